"""Files over REST: what is stored, who may read it, and what failures leave behind."""

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from unittest.mock import patch

import pytest
from sqlalchemy import func, select

from app.attachments import service
from app.config import Settings, SettingsError
from app.database.session import reading, run_write, session
from app.files import adding, images, sweeping
from app.files.models import FileContent
from app.files.store import GRACE_SECONDS, FolderStore
from app.http import multipart
from app.jobs.sweeping import sweep
from tests.authorization.world import encoded_before
from tests.files.hostile import HTML, SVG, photograph, picture
from tests.support.story import (
    add_file,
    events,
    form_of,
    invalid,
    make_ticket,
    malformed,
    ok,
    refused,
    walk,
)

KEY = {"Idempotency-Key": "a key of mine"}


@pytest.fixture(name="ticket")
def _ticket(cast):
    return f"/tickets/{make_ticket(cast.ada, cast.open_project)['id']}"


@pytest.fixture(name="changed")
def _changed(app):
    """Change settings for one test."""
    before = app.config["SETTINGS"]

    def change(**values):
        app.config["SETTINGS"] = replace(before, **values)

    yield change
    app.config["SETTINGS"] = before


def stored(app):
    """Return the contents in the folder."""
    return {path.name for path in app.config["SETTINGS"].files_dir.glob("??/*")}


def rows(app):
    """Return the contents in the database."""
    with app.app_context(), reading():
        return set(session.scalars(select(FileContent.sha256)))


def send(caller, path, content=b"Words", name="notes.txt", **options):
    return caller.call("POST", f"{path}/files", data=form_of(content, name), **options)


def grow_old(app):
    """Make everything in the store older than the grace period."""
    then = time.time() - GRACE_SECONDS - 60
    for path in app.config["SETTINGS"].files_dir.glob("??/*"):
        os.utime(path, (then, then))


def test_a_file_is_stored_listed_sent_and_deleted(app, cast, ticket):
    made = add_file(cast.smith, ticket, b"Words", "../notes.txt")
    digest = hashlib.sha256(b"Words").hexdigest()
    assert (made["name"], made["media_type"], made["size"]) == ("notes.txt", "text/plain", 5)
    assert (made["sha256"], made["is_image"], made["width"]) == (digest, False, None)
    assert made["uploader"]["username"] == "smith"
    assert ok(cast.ada.get(f"{ticket}/files"))["data"] == [made]
    sent = cast.ada.get(f"/files/{made['id']}")
    assert (sent.data, sent.mimetype) == (b"Words", "application/octet-stream")
    assert sent.headers["Content-Disposition"].startswith('attachment; filename="notes.txt"')
    assert sent.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert sent.headers["Cache-Control"] == "private, no-cache"
    refused(cast.ada.get(f"/files/{made['id']}/thumbnail"), 404, "resource.not_found")
    ok(cast.ada.delete(f"/files/{made['id']}"), 204)
    assert ok(cast.ada.get(f"{ticket}/files"))["data"] == []
    refused(cast.ada.get(f"/files/{made['id']}"), 404, "resource.not_found")
    told = [events(app, event_type=f"file.{verb}")[0] for verb in ("added", "deleted")]
    assert {event.ticket_id for event in told} == {made["ticket_id"]}
    assert [event.payload["file_id"] for event in told] == [made["id"]] * 2


def test_an_image_is_what_docket_encoded(cast, ticket):
    made = add_file(cast.ada, ticket, photograph(), "beach.jpg")
    assert (made["is_image"], made["width"], made["height"]) == (True, 40, 64)
    sent = cast.ada.get(f"/files/{made['id']}")
    assert sent.mimetype == "image/jpeg"
    assert sent.headers["Content-Disposition"].startswith("inline;")
    assert b"secret" not in sent.data
    assert hashlib.sha256(sent.data).hexdigest() == made["sha256"]
    assert cast.ada.get(f"/files/{made['id']}/thumbnail").mimetype == "image/webp"


@pytest.mark.parametrize(("content", "name"), [(SVG, "a.svg"), (HTML, "a.png")])
def test_what_could_run_is_only_saved(cast, ticket, content, name):
    made = add_file(cast.ada, ticket, content, name)
    sent = cast.ada.get(f"/files/{made['id']}")
    assert sent.mimetype == "application/octet-stream"
    assert sent.headers["Content-Disposition"].startswith("attachment;")
    assert sent.headers["X-Content-Type-Options"] == "nosniff"


def test_parts_of_a_file(cast, ticket):
    content = bytes(range(256)) * 1000
    path = f"/files/{add_file(cast.ada, ticket, content, 'a.bin')['id']}"
    tag = cast.ada.get(path).headers["ETag"]

    def part(asked, **more):
        sent = cast.ada.get(path, headers={"Range": asked, **more})
        return sent.status_code, sent.headers.get("Content-Range"), sent.data

    assert part("bytes=1-3") == (206, "bytes 1-3/256000", content[1:4])
    assert part("bytes=-2") == (206, "bytes 255998-255999/256000", content[-2:])
    assert part("bytes=255000-") == (206, "bytes 255000-255999/256000", content[255000:])
    assert part("bytes=5-5", **{"If-Range": tag})[0] == 206
    for asked in ("bytes=256000-", "bytes=3-1", "bytes=0-1,4-5", "lines=1-2", "bytes=x", "0-1"):
        assert part(asked) == (200, None, content)
    assert part("bytes=5-5", **{"If-Range": '"other"'})[0] == 200
    assert cast.ada.get(path, headers={"If-None-Match": tag}).status_code == 304
    # Ranges apply only to GET.
    head = cast.ada.call("HEAD", path, headers={"Range": "bytes=1-3"})
    assert (head.status_code, head.data, head.headers["Content-Length"]) == (200, b"", "256000")


def test_a_repeated_upload_is_one_file(cast, ticket):
    first = send(cast.ada, ticket, headers=KEY)
    again = send(cast.ada, ticket, headers=KEY)
    assert (first.data, again.headers["Idempotency-Replayed"]) == (again.data, "true")
    for content, name in ((b"Other", "notes.txt"), (b"Words", "other.txt")):
        answer = send(cast.ada, ticket, content, name, headers=KEY)
        refused(answer, 409, "resource.conflict", reason="idempotency_mismatch")
    assert len(ok(cast.ada.get(f"{ticket}/files"))["data"]) == 1


def test_what_is_sent_is_echoed(cast, ticket):
    form = form_of(b"Words", client_request_id="mine")
    made = cast.ada.client.post(f"/api/v1{ticket}/files", data=form).get_json()
    assert made["name"] == "notes.txt"


def test_a_form_that_is_none(app, cast, ticket):
    path = f"{ticket}/files"
    malformed(cast.ada.post(path, {"file": "x"}), ["body"], "content_type")
    malformed(cast.ada.call("POST", path, data={"file": "x"}), ["body"], "content_type")
    kind = {"content_type": "multipart/form-data"}
    malformed(cast.ada.call("POST", path, data=b"x", **kind), ["body"], "invalid_value")
    bounded = {"content_type": "multipart/form-data; boundary=b"}
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    for raw in (
        b"x" * 400_000,
        head,
        head + b"words",
        b"--b\r\n\r\n--b--",
        b"--b\r\nA: \xff\r\n\r\n",
    ):
        malformed(cast.ada.call("POST", path, data=raw, **bounded), ["body"], "invalid_value")
    malformed(
        cast.ada.call("POST", path, data=b"--b--\r\n", **bounded), ["body", "file"], "missing"
    )
    text = head.replace(b'; filename="a"', b"") + b"words\r\n--b--"
    malformed(cast.ada.call("POST", path, data=text, **bounded), ["body", "file"], "invalid_type")
    double = head + b"one\r\n" + head.replace(b'"file"', b'"more"') + b"two\r\n--b--"
    malformed(cast.ada.call("POST", path, data=double, **bounded), ["body", "more"], "too_long")
    other = head.replace(b'"file"', b'"other"') + b"one\r\n--b--"
    malformed(
        cast.ada.call("POST", path, data=other, **bounded), ["body", "other"], "unknown_field"
    )
    nul = head.replace(b'"a"', b'"a\x00b"') + b"one\r\n--b--"
    invalid(cast.ada.call("POST", path, data=nul, **bounded), "file", "nul_character")
    # None of these requests left anything behind.
    assert list(app.config["SETTINGS"].incoming_dir.iterdir()) == []


def test_what_is_refused(cast, ticket, changed):
    invalid(send(cast.ada, ticket, b""), "file", "empty")
    changed(files_types="image/*,text/plain", files_max_bytes=70_000)
    invalid(send(cast.ada, ticket, HTML, "a.txt"), "file", "type_not_allowed")
    ok(send(cast.ada, ticket, b"Words"), 201)
    for size in (70_001, 500_000):
        refused(send(cast.ada, ticket, b"x" * size), 413, "request.too_large", limit_bytes=70_000)
    ok(send(cast.ada, ticket, b"x" * 70_000), 201)


def test_the_quota_holds_for_uploads_at_once(app, cast, ticket, changed):
    changed(files_quota=100)

    def upload(index):
        caller = (cast.ada, cast.bo, cast.smith)[index % 3]
        client = app.test_client()
        client.set_cookie("app_session", caller.session_token or "")
        headers = caller.headers if caller.token else {}
        form = form_of(bytes([index]) * 30, "a.bin")
        if caller.token:
            client.delete_cookie("app_session")
        return client.post(f"/api/v1{ticket}/files", data=form, headers=headers).status_code

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(upload, range(1, 10)))
    assert statuses == [201] * 3 + [422] * 6
    # Known content is refused as well, so that nobody learns that it is stored.
    found = ok(cast.ada.get(f"{ticket}/files"))["data"]
    same = cast.ada.get(f"/files/{found[0]['id']}").data
    for content in (same, b"y" * 30):
        invalid(send(cast.ada, ticket, content, "b.bin"), "file", "quota_exceeded")
    # A deleted file frees its space, and a duplicate of a content takes none.
    ok(cast.ada.delete(f"/files/{found[1]['id']}"), 204)
    for content in (same, same, b"y" * 30):
        ok(send(cast.ada, ticket, content, "c.bin"), 201)


def test_files_of_comments_are_their_authors(cast, ticket):
    comment = ok(cast.smith.post(f"{ticket}/comments", {"body": "Look"}), 201)
    path = f"/comments/{comment['id']}"
    made = add_file(cast.smith, path)
    assert made["comment_id"] == comment["id"]
    refused(send(cast.ada, path), 403, "auth.forbidden", reason="not_author")
    assert ok(cast.ada.get(f"{path}/files"))["data"] == [made]
    assert ok(cast.ada.get(f"{ticket}/files"))["data"] == [made]
    ok(cast.ada.delete(path), 204)
    assert ok(cast.ada.get(f"{ticket}/files"))["data"] == []
    refused(cast.ada.get(f"/files/{made['id']}"), 410, "resource.gone")


def test_a_list_is_in_pages(cast, ticket):
    made = [add_file(cast.ada, ticket, bytes([65 + index]))["id"] for index in range(5)]
    assert [row["id"] for row in walk(cast.ada, f"{ticket}/files", 2)] == made


def test_a_file_is_activity_of_its_ticket(cast, ticket):
    before = ok(cast.ada.get(ticket))
    add_file(cast.ada, ticket)
    after = ok(cast.ada.get(ticket))
    assert after["updated_at"] == before["updated_at"]
    assert after["last_activity_at"] > before["last_activity_at"]
    feed = ok(cast.ada.get(f"{ticket}/activity"))["data"]
    assert feed[0]["event_type"] == "file.added"


def test_a_page_without_files_says_what_to_do(cast, ticket):
    empty = "No files yet."
    page = f"/{ticket}/files"
    assert empty in cast.ada.get(page).text
    assert empty not in cast.ada.get(f"/{ticket}").text
    add_file(cast.ada, ticket)
    assert empty not in cast.ada.get(page).text


def test_contents_are_kept_once_and_swept_when_nobody_has_them(app, cast, ticket):
    settings = app.config["SETTINGS"]
    one, same = add_file(cast.ada, ticket), add_file(cast.bo, ticket, name="again.txt")
    image = add_file(cast.ada, ticket, picture("PNG"), "a.png")
    assert rows(app) <= stored(app)
    assert one["sha256"] == same["sha256"]
    ok(cast.ada.delete(f"/files/{one['id']}"), 204)
    ok(cast.ada.delete(f"/files/{image['id']}"), 204)
    assert rows(app) == {same["sha256"]}
    with app.app_context():
        sweep("file-contents", settings, now=True)
        assert image["sha256"] in stored(app)
        grow_old(app)
        sweep("file-contents", settings, now=True)
    assert stored(app) == rows(app) == {same["sha256"]}
    assert cast.ada.get(f"/files/{same['id']}").data == b"Words"


def test_a_sweep_takes_nothing_that_is_stored_again_meanwhile(app, cast, ticket):
    settings = app.config["SETTINGS"]
    made = add_file(cast.ada, ticket)
    ok(cast.ada.delete(f"/files/{made['id']}"), 204)
    grow_old(app)
    with app.app_context():
        found = sweeping.listed(settings)
        assert made["sha256"] in found
        again = add_file(cast.ada, ticket)
        run_write(lambda: sweeping.discard_some(settings, found))
    assert cast.ada.get(f"/files/{again['id']}").data == b"Words"


def test_uploads_and_sweeps_of_one_content_at_once(app, cast, ticket):
    """Whatever the order, no row is ever without its content."""
    settings, ended = app.config["SETTINGS"], threading.Event()
    missing = []

    def sweep_on():
        with app.app_context():
            while not ended.is_set():
                grow_old(app)
                found = sweeping.listed(settings)
                run_write(lambda found=found: sweeping.discard_some(settings, found))
                missing.extend(rows(app) - stored(app))

    sweeper = threading.Thread(target=sweep_on)
    sweeper.start()
    for _ in range(15):
        made = add_file(cast.ada, ticket)
        assert cast.ada.get(f"/files/{made['id']}").data == b"Words"
        ok(cast.ada.delete(f"/files/{made['id']}"), 204)
    ended.set()
    sweeper.join()
    assert missing == []


def test_an_upload_that_fails_leaves_no_row(app, cast, ticket, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderStore, "ensure", full)
    refused(send(cast.ada, ticket), 503, "server.unavailable")
    with app.app_context(), reading():
        assert session.scalar(select(func.count()).select_from(FileContent)) == 0
    assert list(app.config["SETTINGS"].incoming_dir.iterdir()) == []


def test_a_file_for_which_there_is_no_room_leaves_nothing(app, cast, ticket, monkeypatch):
    def on_a_full_disk(dir, **_):
        (dir / "received-1").touch()
        return os.open("/dev/full", os.O_WRONLY), dir / "received-1"

    monkeypatch.setattr(multipart, "CHUNK_BYTES", 3000)
    monkeypatch.setattr(multipart.tempfile, "mkstemp", on_a_full_disk)
    refused(send(cast.ada, ticket, b"Words" * 9000), 503, "server.unavailable")
    assert list(app.config["SETTINGS"].incoming_dir.iterdir()) == []


class Killed(BaseException):
    """Ends the running code like a kill: uncommitted work is lost."""


@pytest.fixture(name="encoded_before")
def _encoded_before():
    """Use images encoded before: running the encoder would take longer than everything else."""
    with patch.object(images, "encode_image", encoded_before):
        yield


@pytest.mark.usefixtures("encoded_before")
@pytest.mark.parametrize(
    ("where", "name"),
    [
        (FolderStore, "prepare"),
        (adding, "insert_file"),
        (FolderStore, "ensure"),
        (service, "_record"),
    ],
)
@pytest.mark.parametrize("is_after", [False, True])
def test_wherever_an_upload_ends_no_row_is_without_its_content(
    app, cast, ticket, monkeypatch, where, name, is_after
):
    real = getattr(where, name)

    def dying(*values, **named):
        if is_after:
            real(*values, **named)
        raise Killed

    monkeypatch.setattr(where, name, dying)
    with pytest.raises(Killed):
        send(cast.ada, ticket, picture("GIF", mode="P"), "a.gif")
    assert rows(app) == set()
    monkeypatch.undo()
    made = add_file(cast.ada, ticket, picture("GIF", mode="P"), "a.gif")
    assert cast.ada.get(f"/files/{made['id']}").status_code == 200
    assert rows(app) <= stored(app)


def test_a_content_that_is_missing_is_said(app, cast, ticket):
    made = add_file(cast.ada, ticket, picture("GIF", mode="P"), "a.gif")
    for path in app.config["SETTINGS"].files_dir.glob("??/*"):
        path.unlink()
    for path in (f"/files/{made['id']}", f"/files/{made['id']}/thumbnail"):
        refused(cast.ada.get(path), 503, "server.unavailable")


@pytest.mark.one_database
@pytest.mark.parametrize("value", ["image", "image/*;text/*", "/", "a/b/c"])
def test_types_that_are_none_end_the_start(tmp_path, value):
    with pytest.raises(SettingsError, match="FILES_TYPES"):
        Settings.from_env({"INSTANCE_DIR": str(tmp_path), "FILES_TYPES": value})
