"""Contents in a bucket of an S3-compatible store, for several hosts; needs boto3.

Credentials and region come from the environment, as boto3 reads them.
"""

import hashlib
import logging
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from app.core.errors import Unavailable
from app.files import messages
from app.files.store import GRACE_SECONDS, PIECE_BYTES, ContentMissing, NewContent

log = logging.getLogger(__name__)

T = TypeVar("T")

# Contents to delete per request.
BATCH = 1000
_ABSENT = frozenset({"404", "NoSuchKey", "NotFound"})


class S3Store:
    """Contents as objects ``PREFIX/ab/ab12...`` of a bucket."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        self._bucket = parts.netloc
        self._prefix = f"{parts.path.strip('/')}/" if parts.path.strip("/") else ""
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=options.get("endpoint", [None])[0],
            region_name=options.get("region", [None])[0],
            config=Config(
                connect_timeout=5,
                read_timeout=30,
                retries={"max_attempts": 3, "mode": "standard"},
                # Not every compatible store supports the newer checksums.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
            ),
        )
        self._client.meta.events.register("before-call.s3.DeleteObjects", _add_md5)

    def _key(self, sha256: str) -> str:
        return f"{self._prefix}{sha256[:2]}/{sha256}"

    def _ask(self, sha256: str, request: Callable[[], T]) -> T:
        """Run the request; raises ContentMissing for a missing object, Unavailable otherwise."""
        try:
            return request()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _ABSENT:
                raise ContentMissing(sha256) from error
            raise _unavailable(error) from error
        except BotoCoreError as error:
            raise _unavailable(error) from error

    def _named(self, sha256: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._key(sha256)}

    def _head(self, sha256: str) -> Any:
        return self._ask(sha256, lambda: self._client.head_object(**self._named(sha256)))

    def prepare(self, content: NewContent) -> None:
        """Upload the content, even over an old object, which a sweep may be about to discard."""
        try:
            if self._head(content.sha256)["LastModified"] > _ago(GRACE_SECONDS / 2):
                return
        except ContentMissing:
            pass

        def put() -> None:
            with content.path.open("rb") as file:
                self._client.put_object(**self._named(content.sha256), Body=file)

        self._ask(content.sha256, put)

    def ensure(self, content: NewContent) -> None:
        try:
            self._head(content.sha256)
        except ContentMissing as error:
            raise Unavailable from error

    def read(self, sha256: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        end = "" if length is None else start + length - 1
        part = {} if (start, length) == (0, None) else {"Range": f"bytes={start}-{end}"}

        def get() -> Any:
            return self._client.get_object(**self._named(sha256), **part)["Body"]

        pieces: Iterator[bytes] = self._ask(sha256, get).iter_chunks(PIECE_BYTES)
        return pieces

    def size(self, sha256: str) -> int:
        return int(self._head(sha256)["ContentLength"])

    def problem(self) -> str | None:
        try:
            self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix, MaxKeys=1)
        except ClientError as error:
            return str(error.response.get("Error", {}).get("Code"))
        except BotoCoreError as error:
            return type(error).__name__
        return None

    def old(self) -> Iterator[str]:
        before = _ago(GRACE_SECONDS)
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=self._prefix
        )
        listing = iter(pages)
        while (page := self._ask("", lambda: next(listing, None))) is not None:
            for one in page.get("Contents", ()):
                name = one["Key"].rpartition("/")[2]
                is_ours = one["Key"] == self._key(name)
                if is_ours and one["LastModified"] < before:
                    yield name

    def discard(self, contents: Sequence[str]) -> None:
        for start in range(0, len(contents), BATCH):
            keys = [{"Key": self._key(one)} for one in contents[start : start + BATCH]]
            self._ask("", partial(self._delete, {"Objects": keys, "Quiet": True}))

    def _delete(self, objects: dict[str, Any]) -> None:
        answer = self._client.delete_objects(Bucket=self._bucket, Delete=objects)
        # A key without the right to delete gets a 200 that names what is kept.
        if kept := answer.get("Errors"):
            raise ClientError({"Error": kept[0]}, "DeleteObjects")


def _unavailable(error: Exception) -> Unavailable:
    """The refusal of work; logs its reason, which clients do not get."""
    log.warning("the file store refused or did not respond", extra={"reason": str(error)})
    return Unavailable(messages.STORE_DOES_NOT_ANSWER)


def _add_md5(params: dict[str, Any], **_given: object) -> None:
    """Add the checksum that Swift and other stores require; boto3 only sends a newer one."""
    digest = hashlib.md5(params["body"], usedforsecurity=False).digest()
    params["headers"]["Content-MD5"] = b64encode(digest).decode()


def _ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


@cache
def store_at(url: str) -> S3Store:
    """The store at this URL; creating its client takes a tenth of a second."""
    return S3Store(url)
