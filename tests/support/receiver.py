"""An HTTPS receiver of webhooks with its own certificate authority and configurable responses."""

import datetime
import hashlib
import hmac
import http.server
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SECRET = "sixteen bytes at least"


@dataclass(frozen=True)
class Received:
    """A received request."""

    headers: dict[str, str]
    raw: bytes
    at: float
    method: str = "POST"
    path: str = "/hook"

    @property
    def body(self) -> Any:
        return orjson.loads(self.raw)

    @property
    def event(self) -> str:
        return self.headers["X-Webhook-Event"]

    def is_signed_with(self, secret: str) -> bool:
        """Verify as a receiver does: over the raw bytes, in constant time."""
        signed = self.headers["X-Webhook-Timestamp"].encode() + b"." + self.raw
        made = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return hmac.compare_digest(made, self.headers["X-Webhook-Signature"])


Answering = Callable[[Received], int]


@dataclass
class Receiver:
    """The received requests and the response: a status, or a function that returns one."""

    port: int
    ca_file: Path
    received: list[Received] = field(default_factory=list)
    answer: int | Answering = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/hook"

    def events(self) -> list[str]:
        """The types of received events, in order."""
        return [one.event for one in self.received]

    def wait_for(self, count: int, seconds: float = 10) -> list[Received]:
        """Wait until ``count`` requests have arrived."""
        deadline = time.monotonic() + seconds
        while len(self.received) < count:
            assert time.monotonic() < deadline, (count, self.events())
            time.sleep(0.005)
        return list(self.received)


def make_authority(directory: Path, name: str = "localhost") -> tuple[Path, Path]:
    """Create an authority and a certificate for this name; return (CA file, chain with key)."""
    now = datetime.datetime.now(datetime.UTC)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    ca = (
        x509.CertificateBuilder()
        .subject_name(ca_name)
        .issuer_name(ca_name)
        .public_key(ca_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), False)
        .add_extension(
            x509.KeyUsage(False, False, False, False, False, True, True, False, False), True
        )
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(ca_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), False
        )
        .sign(ca_key, hashes.SHA256())
    )
    ca_file, chain = directory / f"ca-{name}.pem", directory / f"chain-{name}.pem"
    pem = serialization.Encoding.PEM
    ca_file.write_bytes(ca.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(certificate.public_bytes(pem) + private)
    return ca_file, chain


@contextmanager
def receiving(directory: Path, name: str = "localhost") -> Iterator[Receiver]:
    """Run a receiver on its own port."""
    ca_file, chain = make_authority(directory, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            raw = self.rfile.read(length)
            if len(raw) < length:
                # The sender died midway: no receiver would accept this as an event.
                self.close_connection = True
                return
            headers = dict(self.headers.items())
            came = Received(headers, raw, time.time(), self.command, self.path)
            receiver.received.append(came)
            answer = receiver.answer
            status = answer if isinstance(answer, int) else answer(came)
            self.send_response(status)
            for header, value in receiver.headers.items():
                self.send_header(header, value)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        do_PUT = do_POST  # noqa: N815 - as the library names it

        def log_message(self, *_: Any) -> None:
            return

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: Any) -> None:
            return

        def finish_request(self, request: Any, client_address: Any) -> None:
            # Handshake in the request's own thread, so that a stalled client blocks nobody.
            with context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    receiver = Receiver(server.server_address[1], ca_file)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
