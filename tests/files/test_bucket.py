"""Files in an S3-compatible store: a small one that is part of the tests."""

import logging
from dataclasses import replace
from datetime import timedelta

import boto3
import pytest

from app.commands.doctor import _files
from app.config import Settings, SettingsError
from app.core.errors import Unavailable
from app.files import sweeping
from app.files.s3 import S3Store
from app.files.store import ContentMissing, store_of
from app.jobs.scheduler import Jobs
from app.jobs.sweeping import sweep
from tests.files.hostile import picture
from tests.support.bucket import serving_bucket
from tests.support.story import add_file, form_of, make_ticket, ok, refused


@pytest.fixture(name="bucket")
def _bucket(app, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    before = app.config["SETTINGS"]
    with serving_bucket() as bucket:
        url = f"s3://docket/files?endpoint={bucket.address}&region=eu-central-1"
        app.config["SETTINGS"] = replace(before, files_url=url)
        yield bucket
        app.config["SETTINGS"] = before


def grow_old(bucket):
    for key, (content, at) in list(bucket.objects.items()):
        bucket.objects[key] = (content, at - timedelta(hours=2))


def test_files_are_in_the_bucket_and_nowhere_else(app, cast, bucket):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    settings = app.config["SETTINGS"]
    made = add_file(cast.ada, ticket, b"Words" * 30_000)
    image = add_file(cast.ada, ticket, picture("PNG"), "a.png")
    digest = made["sha256"]
    assert bucket.objects[f"files/{digest[:2]}/{digest}"][0] == b"Words" * 30_000
    assert not (settings.files_dir / digest[:2] / digest).exists()
    assert cast.ada.get(f"/files/{made['id']}").data == b"Words" * 30_000
    part = cast.ada.get(f"/files/{made['id']}", headers={"Range": "bytes=3-7"})
    assert part.data == b"dsWor"
    assert cast.ada.get(f"/files/{image['id']}/thumbnail").mimetype == "image/webp"
    # While the stored content is new, it is not sent again.
    bucket.requests.clear()
    add_file(cast.bo, ticket, b"Words" * 30_000)
    assert not [one for one in bucket.requests if one.startswith("PUT")]
    for file in ok(cast.ada.get(f"{ticket}/files"))["data"]:
        ok(cast.ada.delete(f"/files/{file['id']}"), 204)
    with app.app_context():
        assert sweeping.listed(settings) == []
        grow_old(bucket)
        # If the stored content is old, it is sent again, so that no sweep discards it.
        add_file(cast.ada, ticket, b"Words" * 30_000)
        sweep("file-contents", settings, now=True)
    assert list(bucket.objects) == [f"files/{digest[:2]}/{digest}"]


def test_a_bucket_that_does_not_answer_is_said(app, cast, bucket):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    made = add_file(cast.ada, ticket)
    bucket.failing = 503
    answer = cast.ada.call("POST", f"{ticket}/files", data=form_of(b"Other"))
    refused(answer, 503, "server.unavailable")
    refused(cast.ada.get(f"/files/{made['id']}"), 503, "server.unavailable")
    bucket.failing = 0
    bucket.objects.clear()
    refused(cast.ada.get(f"/files/{made['id']}"), 503, "server.unavailable")
    with pytest.raises(ContentMissing):
        store_of(app.config["SETTINGS"]).size(made["sha256"])


def test_a_sweep_that_may_not_delete_ends_with_the_reason(app, cast, bucket):
    add_file(cast.ada, f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}")
    ((key, _),) = bucket.objects.items()
    bucket.keeps = True
    with app.app_context(), pytest.raises(Unavailable) as ended:
        store_of(app.config["SETTINGS"]).discard([key.rpartition("/")[2]])
    assert "AccessDenied" in str(ended.value.__cause__)
    assert key in bucket.objects


def test_the_log_says_why_a_bucket_is_not_swept(app, cast, bucket, caplog):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    made = add_file(cast.ada, ticket)
    ok(cast.ada.delete(f"/files/{made['id']}"), 204)
    grow_old(bucket)
    bucket.keeps = True
    Jobs(app)._sweep("file-contents")
    of_store, of_sweep = caplog.records
    assert of_store.getMessage() == "the file store refused or did not respond"
    assert "AccessDenied" in of_store.reason
    assert (of_sweep.getMessage(), of_sweep.sweeper) == ("a sweep did not run", "file-contents")


def test_a_command_logs_nothing_about_where_the_keys_come_from(app, bucket, caplog, monkeypatch):
    # boto3 looks for keys once in a process.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    caplog.set_level(logging.INFO)
    S3Store(app.config["SETTINGS"].files_url)
    assert caplog.records == []


def test_the_doctor_asks_the_bucket(app, cast, bucket):
    add_file(cast.ada, f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}")
    settings = app.config["SETTINGS"]
    with app.app_context():
        (found,) = _files(settings)
        assert (found.message, found.remedy) == ("1 content, 0 missing, 0 damaged", "")
        bucket.failing = 403
        (found,) = _files(settings)
    assert "cannot be listed (InternalError)" in found.message
    assert found.mark == "FAIL"


def test_a_content_that_was_discarded_before_its_row_refuses_the_upload(
    app, cast, bucket, monkeypatch
):
    ticket = f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"
    real = S3Store.prepare

    def lose(store, content):
        real(store, content)
        bucket.objects.clear()

    monkeypatch.setattr(S3Store, "prepare", lose)
    answer = cast.ada.call("POST", f"{ticket}/files", data=form_of(b"Words"))
    refused(answer, 503, "server.unavailable")
    assert ok(cast.ada.get(f"{ticket}/files"))["data"] == []


@pytest.mark.one_database
@pytest.mark.parametrize("value", ["https://x", "s3://", "s3://b?endpoint=x", "s3://b?color=red"])
def test_addresses_of_no_bucket_end_the_start(tmp_path, value):
    with pytest.raises(SettingsError, match="FILES_URL"):
        Settings.from_env({"INSTANCE_DIR": str(tmp_path), "FILES_URL": value})
