"""Check a proof of Docket's audit log.

Run: python check_proof.py PUBLIC_KEY [COPY] < proof.json
The proof is from `flask audit proof EVENT` or `GET /api/v1/audit/{id}?proof=true`, the key from
`flask audit key`. COPY is a file of checkpoints kept elsewhere. Needs the package cryptography.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNED = "sequence", "made_at", "event_count", "first_event_id", "last_event_id", "root", "previous"

given = json.load(sys.stdin)
proof = given.get("proof", given) or sys.exit("No checkpoint has the event yet.")
checkpoint = proof["checkpoint"]
# From the event up to the root of the tree (RFC 6962).
node = hashlib.sha256(b"\x00" + proof["event"].encode()).digest()
for step in proof["path"]:
    other = bytes.fromhex(step["hash"])
    pair = other + node if step["side"] == "left" else node + other
    node = hashlib.sha256(b"\x01" + pair).digest()
if node.hex() != checkpoint["root"]:
    sys.exit("The event is not in the checkpoint.")
# The checkpoint is signed in the form of RFC 8785, which for these values is this one.
signed = {name: checkpoint[name] for name in SIGNED}
body = json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()
if hashlib.sha256(body).hexdigest() != checkpoint["hash"]:
    sys.exit("The checkpoint has another hash.")
key = Ed25519PublicKey.from_public_bytes(base64.b64decode(sys.argv[1]))
key.verify(base64.b64decode(checkpoint["signature"]), body)  # raises InvalidSignature
if len(sys.argv) > 2:
    lines = Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()
    if checkpoint["hash"] not in [json.loads(line)["hash"] for line in lines]:
        sys.exit("The copy does not have this checkpoint.")
print("Proved:", proof["event"])
