"""Files in a third-party S3 store.

It is collected if S3_ENDPOINT is the address of one that accepts any keys (CONTRIBUTING.md).
"""

import os
from dataclasses import replace
from uuid import uuid4

import boto3
import pytest

from app.commands.doctor import _files
from app.files.store import ContentMissing, store_of
from app.jobs.sweeping import sweep
from tests.files.hostile import picture
from tests.support.story import add_file, form_of, make_ticket, ok, refused


@pytest.fixture(name="bucket")
def _bucket(app, monkeypatch):
    """Create a bucket and make the application store its files in it."""
    endpoint, name = os.environ["S3_ENDPOINT"], f"docket-{uuid4().hex}"
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, os.environ.get(key, "testing"))
    region = os.environ.get("AWS_REGION", "us-east-1")
    resource = boto3.resource("s3", endpoint_url=endpoint, region_name=region)
    made = resource.create_bucket(Bucket=name)
    before = app.config["SETTINGS"]
    url = f"s3://{name}/some/files?endpoint={endpoint}&region={region}"
    app.config["SETTINGS"] = replace(before, files_url=url)
    yield made
    app.config["SETTINGS"] = before
    empty(made)
    made.delete()


def empty(bucket):
    """Delete one object at a time: not every store takes a list from boto3."""
    for one in bucket.objects.all():
        one.delete()


def keys(bucket):
    return {one.key for one in bucket.objects.all()}


def test_files_come_and_go(app, cast, bucket, monkeypatch):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    settings, content = app.config["SETTINGS"], bytes(range(256)) * 1500
    made = add_file(cast.ada, ticket, content)
    image = add_file(cast.ada, ticket, picture("PNG"), "a.png")
    digest = made["sha256"]
    assert f"some/files/{digest[:2]}/{digest}" in keys(bucket)
    assert len(keys(bucket)) == 3
    path = f"/files/{made['id']}"
    assert cast.ada.get(path).data == content
    for asked, part in (("bytes=3-7", content[3:8]), ("bytes=-5", content[-5:])):
        assert cast.ada.get(path, headers={"Range": asked}).data == part
    assert cast.ada.get(f"/files/{image['id']}/thumbnail").mimetype == "image/webp"
    bucket.put_object(Key="some/files/notes.txt", Body=b"of someone else")
    with app.app_context():
        (found,) = _files(settings)
        assert (found.message, found.remedy) == ("3 contents, 0 missing, 0 damaged", "")
        assert ok(cast.ada.delete(f"/files/{image['id']}"), 204) is None
        monkeypatch.setattr("app.files.s3.GRACE_SECONDS", -60)
        swept = sweep("file-contents", settings, now=True)
    assert swept is not None
    assert keys(bucket) == {f"some/files/{digest[:2]}/{digest}", "some/files/notes.txt"}
    assert cast.ada.get(path).data == content


def test_many_contents_are_listed_and_discarded_in_pages(app, bucket, monkeypatch):
    for number in range(1005):
        name = f"{number:064x}"
        bucket.put_object(Key=f"some/files/00/{name}", Body=b"x")
    monkeypatch.setattr("app.files.s3.GRACE_SECONDS", -60)
    with app.app_context():
        swept = sweep("file-contents", app.config["SETTINGS"], now=True)
    assert swept is not None
    assert (swept.deleted, keys(bucket)) == (1005, set())


def test_what_is_lost_is_said(app, cast, bucket):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    made = add_file(cast.ada, ticket)
    store = store_of(app.config["SETTINGS"])
    empty(bucket)
    refused(cast.ada.get(f"/files/{made['id']}"), 503, "server.unavailable")
    with pytest.raises(ContentMissing):
        store.size(made["sha256"])
    assert store.problem() is None
    gone = replace(
        app.config["SETTINGS"], files_url=app.config["SETTINGS"].files_url.replace("docket-", "no-")
    )
    assert store_of(gone).problem() == "NoSuchBucket"
    app.config["SETTINGS"] = gone
    answer = cast.ada.call("POST", f"{ticket}/files", data=form_of(b"Other"))
    refused(answer, 503, "server.unavailable")
