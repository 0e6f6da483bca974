"""An in-memory bucket with the part of S3 that files need; it does not check signatures."""

import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Bucket:
    """Objects: content and time by key."""

    address: str = ""
    objects: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    # If set, every request gets this status.
    failing: int = 0
    # Whether the key lacks the right to delete.
    keeps: bool = False
    requests: list[str] = field(default_factory=list)


def _handler(bucket: Bucket) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", headers.get("length", str(len(body))))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def refuse(self, status: int, code: str) -> None:
            self.answer(status, f"<Error><Code>{code}</Code></Error>".encode())

        def received(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def found(self) -> tuple[str, dict[str, list[str]]]:
            parts = urlsplit(self.path)
            bucket.requests.append(f"{self.command} {parts.path}")
            return unquote(parts.path.split("/", 2)[2] if parts.path.count("/") > 1 else ""), (
                parse_qs(parts.query, keep_blank_values=True)
            )

        def do_PUT(self) -> None:
            key, _ = self.found()
            content = self.received()
            if bucket.failing:
                return self.refuse(bucket.failing, "InternalError")
            bucket.objects[key] = (content, datetime.now(UTC))
            return self.answer(200, ETag='"x"')

        def do_HEAD(self) -> None:
            key, _ = self.found()
            if bucket.failing:
                return self.answer(bucket.failing)
            if key not in bucket.objects:
                return self.answer(404)
            content, at = bucket.objects[key]
            return self.answer(200, content, Last_Modified=format_datetime(at, usegmt=True))

        def do_GET(self) -> None:
            key, query = self.found()
            if bucket.failing:
                return self.refuse(bucket.failing, "InternalError")
            if "list-type" in query:
                return self.listed(query.get("prefix", [""])[0])
            if key not in bucket.objects:
                return self.refuse(404, "NoSuchKey")
            content, status = bucket.objects[key][0], 200
            if asked := self.headers.get("Range"):
                start, _, end = asked.removeprefix("bytes=").partition("-")
                content, status = content[int(start) : int(end) + 1 if end else None], 206
            return self.answer(status, content)

        def listed(self, prefix: str) -> None:
            rows = "".join(
                f"<Contents><Key>{key}</Key><Size>{len(content)}</Size>"
                f"<LastModified>{at:%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
                for key, (content, at) in sorted(bucket.objects.items())
                if key.startswith(prefix)
            )
            body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>"
            self.answer(200, body.encode(), Content_Type="application/xml")

        def do_POST(self) -> None:
            self.found()
            body = self.received()
            # As OpenStack Swift does, and as the API of S3 asks for.
            if self.headers["Content-MD5"] != b64encode(md5(body).digest()).decode():  # noqa: S324
                return self.refuse(400, "InvalidRequest")
            said = ""
            for key in re.findall(r"<Key>([^<]+)</Key>", body.decode()):
                if bucket.keeps:
                    said += f"<Error><Key>{key}</Key><Code>AccessDenied</Code></Error>"
                else:
                    bucket.objects.pop(key, None)
            said = f"<DeleteResult>{said}</DeleteResult>"
            return self.answer(200, said.encode(), Content_Type="application/xml")

    return Handler


@contextmanager
def serving_bucket() -> Iterator[Bucket]:
    """Run a bucket on a local port."""
    bucket = Bucket()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(bucket))
    bucket.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
