"""Files as bots see them: listed with the thing that they belong to, and read if they are small."""

import base64
from io import BytesIO

import pytest
from PIL import Image

from app.tools import files
from tests.files.hostile import HTML, picture
from tests.support.story import add_file, make_ticket, ok


@pytest.fixture(name="ticket")
def _ticket(cast, ada):
    return make_ticket(ada, cast.open_project)


def read(agent, file):
    (content,) = agent.result("resources/read", {"uri": f"docket://files/{file['id']}"})["contents"]
    return content


def test_files_are_listed_with_their_ticket_and_page(smith, ada, ticket):
    assert "files" not in smith.lean("get_ticket", ticket=ticket["display_id"])
    made = add_file(ada, f"/tickets/{ticket['id']}", b"Words", "a.txt")
    listed = {"uri": f"docket://files/{made['id']}", "name": "a.txt"}
    listed |= {"media_type": "text/plain", "size": 5}
    assert smith.lean("get_ticket", ticket=ticket["display_id"])["files"] == [listed]
    full = smith.call("get_ticket", ticket=ticket["display_id"])
    assert full["files"] == [made]
    page = ok(ada.post("/wiki/pages", {"title": "With files"}), 201)
    made = add_file(ada, f"/wiki/pages/{page['id']}", b"Words", "b.txt")
    (shown,) = smith.lean("get_wiki_page", page="with-files")["files"]
    assert shown["uri"] == f"docket://files/{made['id']}"


def test_images_and_short_texts_are_read(smith, ada, ticket, monkeypatch):
    path = f"/tickets/{ticket['id']}"
    image = add_file(ada, path, picture("PNG", (900, 600)), "a.png")
    shown = read(smith, image)
    assert shown["mimeType"] == "image/png"
    assert Image.open(BytesIO(base64.b64decode(shown["blob"]))).size == (900, 600)
    monkeypatch.setattr(files, "MAX_IMAGE_BYTES", 10)
    small = read(smith, image)
    assert small["mimeType"] == "image/webp"
    assert Image.open(BytesIO(base64.b64decode(small["blob"]))).size == (480, 320)
    text = add_file(ada, path, "Grüße".encode(), "a.txt")
    assert read(smith, text) == {
        "uri": f"docket://files/{text['id']}",
        "mimeType": "text/plain",
        "text": "Grüße",
    }
    # An HTML file is read as plain text.
    assert read(smith, add_file(ada, path, HTML, "a.html"))["mimeType"] == "text/plain"


@pytest.mark.parametrize("content", [b"x" * 65_537, b"one\x00two", b"\xff\xfe\xfd"])
def test_other_files_are_downloaded(smith, ada, ticket, content):
    made = add_file(ada, f"/tickets/{ticket['id']}", content, "a.bin")
    answer = smith.send("resources/read", {"uri": f"docket://files/{made['id']}"}).get_json()
    assert f"GET /api/v1/files/{made['id']}" in answer["error"]["message"]
