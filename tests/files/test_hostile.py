"""How uploads are classified: as an image that Docket re-encodes, or as a download."""

import json
import subprocess
import warnings
from io import BytesIO
from types import SimpleNamespace

import pytest
from PIL import Image

from app.files import detection, encoder, images
from app.files.store import NewContent
from app.http.multipart import ReceivedFile
from tests.files.hostile import CASES, NAMES, OCTETS, SCRIPT, photograph
from tests.support.sizes import IS_LONG

MAX_BYTES = 25 * 1024 * 1024


def received(folder, content, name):
    path = folder / "received"
    path.write_bytes(content)
    return ReceivedFile(path, name, len(content), NewContent.of(path).sha256)


@pytest.fixture
def fast_encoder(monkeypatch):
    """Run the encoder in this process: starting another takes longer than most images do."""

    def run(arguments, **_):
        try:
            with warnings.catch_warnings():
                made = encoder.encode(*map(str, arguments[3:6]))
        except Exception as error:
            raise subprocess.CalledProcessError(1, arguments) from error
        return SimpleNamespace(stdout=json.dumps(made))

    monkeypatch.setattr(images.subprocess, "run", run)


# These hit the limits of a process, and an image of each format uses a real one.
OWN_PROCESS = {
    *("png", "jpeg", "gif that moves", "webp"),
    *("png that is a bomb", "png with a huge text"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_what_it_holds_and_not_what_it_says(tmp_path, request, case):
    if case not in OWN_PROCESS and not IS_LONG:
        request.getfixturevalue("fast_encoder")
    content, name, kind, is_image = CASES[case]
    assert detection.media_type(content[: detection.HEAD_BYTES], name) == kind
    if kind not in images.MEDIA_TYPES.values():
        assert not is_image
        return
    made = images.encode_image(received(tmp_path, content, name).path, MAX_BYTES)
    assert (made is not None) is is_image
    if made is None:
        # A failed attempt leaves nothing behind.
        assert [path.name for path in tmp_path.iterdir()] == ["received"]
        return
    assert made.media_type == kind
    shown = made.path.read_bytes()
    assert SCRIPT not in shown
    assert b"secret" not in shown
    assert SCRIPT not in made.thumbnail.read_bytes()
    with Image.open(made.path) as image, Image.open(made.thumbnail) as small:
        assert (image.width, image.height) == (made.width, made.height)
        assert max(small.size) <= 480
        assert not image.getexif()
        assert getattr(image, "n_frames", 1) == (3 if "moves" in case else 1)


def test_a_photograph_stands_upright(tmp_path):
    made = images.encode_image(received(tmp_path, photograph(6), "a.jpg").path, MAX_BYTES)
    assert (made.width, made.height) == (40, 64)


def test_an_image_that_is_too_long_when_encoded_is_none(tmp_path):
    noise = BytesIO()
    Image.effect_noise((200, 200), 90).save(noise, "PNG")
    assert images.encode_image(received(tmp_path, noise.getvalue(), "a.png").path, 5_000) is None


def test_an_encoder_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "SECONDS", 0.001)
    assert images.encode_image(received(tmp_path, photograph(), "a.jpg").path, MAX_BYTES) is None


@pytest.mark.parametrize("sent", NAMES)
def test_a_name_is_safe_to_show_and_to_save_under(sent):
    kept = detection.clean_name(sent)
    assert kept == NAMES[sent]
    assert 0 < len(kept) <= 200


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.md", b"# Words", "text/markdown"),
        ("a.csv", b"a,b", "text/csv"),
        ("a.json", b"{}", "application/json"),
        ("a.docx", b"PK\x03\x04", "application/vnd.openxmlformats-officedocument"),
        ("a.mp4", b"\0\0\0\x18ftypmp42", "video/mp4"),
        ("a", b"\x1f\x8b\x08", "application/gzip"),
        ("a.unknown", b"words", "text/plain"),
        ("a.txt", b"\xff\xfe\xfd", OCTETS),
    ],
)
def test_kinds_that_names_tell_apart(name, content, kind):
    assert detection.media_type(content, name).startswith(kind)


def test_allowed_types():
    assert detection.is_allowed("image/png", "image/*,text/plain")
    assert detection.is_allowed("text/plain", "image/*,text/plain")
    assert not detection.is_allowed("text/html", "image/*,text/plain")
