"""What a browser sends for a form of stored values."""

from html.parser import HTMLParser


class SentForm(HTMLParser):
    """The values that a browser sends for the form with originals."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self._is_inside = False
        self._select = self._text = ""
        start = markup.index('name="originals"')
        self.feed(markup[markup.rindex("<form", 0, start) : markup.index("</form>", start)])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "select":
            self._select = name
        elif tag == "option" and ("selected" in given or self._select not in self.sent):
            self.sent[self._select] = [given["value"]]
        elif tag == "textarea":
            self._text = name
            self.sent[name] = [""]
        elif tag == "input" and (
            given.get("type") not in ("checkbox", "radio") or "checked" in given
        ):
            self.sent.setdefault(name, []).append(given.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.sent[self._text][0] += data.removeprefix("\n")
