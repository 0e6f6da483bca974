"""Files on pages: uploaded, listed, refused and deleted without scripts."""

import re
from dataclasses import replace
from io import BytesIO

import pytest

from tests.files.hostile import HTML, picture
from tests.support.story import add_file, make_ticket, ok

FORM = "multipart/form-data; boundary=b"
BEGIN = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'


@pytest.fixture(name="ticket")
def _ticket(cast):
    return f"/tickets/{make_ticket(cast.ada, cast.open_project)['display_id']}"


def add(ada, path, content=b"Words", name="a.txt"):
    return ada.post(f"{path}/files", file=(BytesIO(content), name))


def test_a_form_adds_a_file_and_another_deletes_it(ada, cast, ticket):
    answer = add(ada, ticket, picture("PNG"), "a.png")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{ticket}/files")
    (made,) = ok(cast.ada.get(f"{ticket}/files"))["data"]
    for path in (ticket, f"{ticket}/files"):
        assert f'src="/files/{made["id"]}/thumbnail"' in ada.get(path).text
    sent = ada.get(f"/files/{made['id']}")
    assert (sent.mimetype, sent.headers["Content-Security-Policy"]) == (
        "image/png",
        "sandbox; default-src 'none'",
    )
    assert ada.get(f"/files/{made['id']}/delete").status_code == 200
    deleted = ada.post(f"/files/{made['id']}/delete")
    assert (deleted.status_code, deleted.headers["Location"]) == (303, ticket)
    assert "thumbnail" not in ada.get(ticket).text


def test_files_of_a_page_are_listed_once_it_is_seen(ada, cast):
    page = ok(cast.ada.post("/wiki/pages", {"title": "Hosts"}), 201)
    path = f"/wiki/pages/{page['id']}"
    assert f'hx-get="{path}/files"' in ada.get("/wiki/hosts").text
    assert add(ada, path).status_code == 303
    shown = ada.get(f"{path}/files", htmx=True).text
    assert "a.txt" in shown
    assert "<html" not in shown
    (made,) = ok(cast.ada.get(f"{path}/files"))["data"]
    assert ada.post(f"/files/{made['id']}/delete").headers["Location"] == "/wiki/hosts"


def test_a_page_never_comes_out_of_a_file(ada, cast, ticket):
    made = add_file(cast.ada, ticket, HTML, "a.html")
    sent = ada.get(f"/files/{made['id']}")
    assert sent.mimetype == "application/octet-stream"
    assert sent.headers["Content-Disposition"].startswith("attachment;")


def test_what_is_refused_is_said_in_words(app, ada, ticket):
    large = BEGIN + b"x" * (1024 * 1024 + 1) + b"\r\n--b--\r\n"
    before = app.config["SETTINGS"]
    app.config["SETTINGS"] = replace(before, files_max_bytes=1024 * 1024)
    try:
        answers = [
            add(ada, ticket, b""),
            # As bytes: the client would write a longer form to a file.
            ada.client.post(f"{ticket}/files", data=large, content_type=FORM),
            ada.post(f"{ticket}/files", other="x"),
            ada.post(f"{ticket}/files", file=(BytesIO(b""), "")),
        ]
    finally:
        app.config["SETTINGS"] = before
    said = [re.search(r'role="alert">([^<]+)<', answer.text)[1] for answer in answers]
    assert said == [
        "The file is empty.",
        "The file is too large. Files have at most 1 MB.",
        "Select a file.",
        "Select a file.",
    ]
    assert [answer.status_code for answer in answers] == [422, 413, 422, 422]


def test_another_site_sends_no_file(ada, ticket):
    headers = {"Sec-Fetch-Site": "cross-site"}
    form = {"file": (BytesIO(b"Words"), "a.txt")}
    assert ada.post(f"{ticket}/files", headers=headers, **form).status_code == 403


def test_pictures_in_texts_are_shown(ada, cast, ticket):
    made = add_file(cast.ada, ticket, picture("PNG"), "a.png")
    ok(cast.ada.patch(ticket, {"body": f"![A *view*](/files/{made['id']})"}))
    image = f'<img src="/files/{made["id"]}" alt="A *view*" loading="lazy">'
    assert image in ada.get(ticket).text
