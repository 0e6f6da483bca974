import io
import zipfile

import pytest

PAGE = {"Accept": "text/html"}


@pytest.fixture
def archive(cast):
    """Download the export as a caller; return its files."""

    def downloaded(query="", by=None):
        answer = (by or cast.ada).client.get(f"/export/archive.zip?{query}", headers=PAGE)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        with zipfile.ZipFile(io.BytesIO(answer.data)) as opened:
            assert opened.testzip() is None
            return {name: opened.read(name).decode() for name in opened.namelist()}

    return downloaded
