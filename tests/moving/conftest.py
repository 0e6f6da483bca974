"""Ada at the pages of import and export, without a browser."""

import io
import zipfile

import pytest
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

PAGE = {"Accept": "text/html"}


@pytest.fixture
def send(cast):
    """Send the form of imports as Ada; the answer."""

    def sent(*files, htmx=False, by=None, status=200, path="/import", **form):
        given = {"project": "OPEN", "do": "try", "webhooks": "on", **form}
        data = {name: value for name, value in given.items() if value is not None}
        data["files"] = [
            FileStorage(
                io.BytesIO(content if isinstance(content, bytes) else content.encode()), name
            )
            for name, content in files
        ]
        headers = PAGE | ({"HX-Request": "true"} if htmx else {})
        boundary, body = encode_multipart(data)
        answer = (by or cast.ada).client.post(
            path,
            data=body,
            headers=headers,
            content_type=f"multipart/form-data; boundary={boundary}",
        )
        statuses = status if isinstance(status, tuple) else (status,)
        assert answer.status_code in statuses, (answer.status_code, answer.text)
        return answer.text

    return sent


@pytest.fixture
def archive(cast):
    """Download the export as somebody; its files."""

    def downloaded(query="", by=None):
        answer = (by or cast.ada).client.get(f"/export/archive.zip?{query}", headers=PAGE)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        with zipfile.ZipFile(io.BytesIO(answer.data)) as opened:
            assert opened.testzip() is None
            return {name: opened.read(name).decode() for name in opened.namelist()}

    return downloaded
