"""The examples of docs/ work: they run in sequence against one new server."""

import os
import runpy
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import requests

from app.webhooks.attempts import signature
from tests.support.forking import FORKED
from tests.support.serving import serving
from tests.test_docs import blocks


def run(command, folder, script, **environment):
    """Run a script; return its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        input=script,
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_guides_work_as_they_are_written(tmp_path):
    with serving(tmp_path / "instance", command=FORKED) as served:
        shell = [*blocks("api-guide.md", "sh"), *blocks("bot-guide.md", "sh")]
        shell += [blocks("webhooks.md", "sh")[0], *blocks("integrations.md", "sh")]
        script = "\n".join(
            ["set -euo pipefail", *shell, 'echo "$TOKEN" > token; echo "$PAGE" > page']
        )
        address = "http://127.0.0.1:8000"
        assert address in script
        said = run(["bash"], tmp_path, script.replace(address, served.url))
        assert "Rotate the certificates" in said
        assert '"outcome":"1 linked"' in said
        assert "Rules for agents" in (tmp_path / "page").read_text()
        token = (tmp_path / "token").read_text().strip()
        environment = {"DOCKET": served.url, "TOKEN": token}
        python = "\n".join(blocks("api-guide.md", "python"))
        # The shell examples ran before and created another ticket.
        python = python.replace('== ["OPS-1"]', '== ["OPS-2", "OPS-1"]')
        python = python.replace('== "OPS-2"', '== "OPS-3"')
        run([sys.executable, "-"], tmp_path, python, **environment)
        agent = run(
            [sys.executable, "-"], tmp_path, blocks("bot-guide.md", "python")[0], **environment
        )
        assert "I am bot-ops-1" in agent
        assert "OPS-2 Check the lamp" in agent


def test_the_receiver_takes_what_is_genuine_and_nothing_else(tmp_path):
    (tmp_path / "receiver.py").write_text("\n".join(blocks("webhooks.md", "python")))
    names = runpy.run_path(str(tmp_path / "receiver.py"))
    body = b'{"type": "ticket.created", "target": {"kind": "ticket"}}'
    now = int(time.time())
    server = names["serve"](0)
    url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:

        def status(at=now, sent=body, secret=names["SECRET"], **changes):
            headers = {
                "X-Webhook-Timestamp": str(at),
                "X-Webhook-Signature": signature(secret.encode(), at, body),
            }
            return requests.post(url, sent, headers=headers | changes, timeout=10).status_code

        assert status() == 204
        assert status(sent=body + b" ") == 401
        assert status(secret="another secret of 16") == 401
        assert status(at=now - 400) == 401
        assert status(**{"X-Webhook-Signature": "sha256=\u00e9"}) == 401
        assert status(**{"X-Webhook-Timestamp": "soon"}) == 401
        assert requests.post(url, body, timeout=10).status_code == 401
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    (tmp_path / "body.json").write_bytes(body)
    by_hand = blocks("webhooks.md", "sh")[1]
    made = run(["bash"], tmp_path, by_hand, TIMESTAMP=str(now), SECRET=names["SECRET"])
    assert made.strip() == signature(names["SECRET"].encode(), now, body)


def test_the_receiver_speaks_tls_with_the_certificate_that_the_guide_makes(
    tmp_path,
):
    run(["bash"], tmp_path, blocks("webhooks.md", "sh")[2])
    (tmp_path / "receiver.py").write_text("\n".join(blocks("webhooks.md", "python")))
    names = runpy.run_path(str(tmp_path / "receiver.py"))
    certificate, key = (str(tmp_path / name) for name in ("cert.pem", "key.pem"))
    server = names["serve"](0, certificate, key)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        body, now = b'{"type": "ticket.created", "target": {}}', int(time.time())
        headers = {
            "X-Webhook-Timestamp": str(now),
            "X-Webhook-Signature": signature(names["SECRET"].encode(), now, body),
        }
        url = f"https://127.0.0.1:{server.server_port}/"
        answer = requests.post(url, body, headers=headers, timeout=10, verify=certificate)
        assert answer.status_code == 204
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
