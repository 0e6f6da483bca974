"""Parse HTML as a browser does, and check that a profile allows all of it."""

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

from app.markdown import Profile
from app.markdown.allowed import ALLOWED, SCHEMES

VOID = frozenset({"br", "hr", "img", "input"})
# The only image addresses that pages use.
FILE = re.compile(r"/files/[0-9a-f-]{36}")
# Control characters other than tab and newline.
CONTROL = {chr(code) for code in range(0x20)} - {"\t", "\n"}


class Judge(HTMLParser):
    """Collects violations, and the tags that it meets."""

    def __init__(self, profile: Profile) -> None:
        super().__init__(convert_charrefs=True)
        self.allowed = ALLOWED[profile]
        self.problems: list[str] = []
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in self.allowed.tags:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag not in VOID:
            self.open.append(tag)

    def _attribute(self, tag: str, name: str, value: str) -> None:
        allowed = self.allowed
        if name == "class":
            if not set(value.split()) <= allowed.classes.get(tag, set()):
                self.problems.append(f"{tag} class={value!r}")
        elif name in allowed.values.get(tag, {}):
            if value not in allowed.values[tag][name]:
                self.problems.append(f"{tag} {name}={value!r}")
        elif name not in allowed.attributes.get(tag, set()):
            self.problems.append(f"{tag} {name}={value!r}")
        if name == "id":
            self.ids.append(value)
            if not value.startswith("h-"):
                self.problems.append(f"id={value!r}")
        if name == "href":
            self._address(value)
        if name == "src" and not FILE.fullmatch(value):
            self.problems.append(f"src={value!r}")

    def _address(self, value: str) -> None:
        shown = "".join(char for char in value if char not in CONTROL).strip()
        flat = shown.replace("\\", "/")
        if flat.startswith("//"):
            self.problems.append(f"href={value!r}")
            return
        scheme = urlsplit(shown).scheme.lower()
        before = flat.split("/")[0].split("?")[0].split("#")[0]
        if (scheme or ":" in before) and scheme not in SCHEMES:
            self.problems.append(f"href={value!r}")

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            self.problems.append(f"</{tag}>")
        elif not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> out of order")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"<![{data}]>")


def judged(html: str, profile: Profile = Profile.FULL) -> Judge:
    """Parse this HTML; fail if it contains anything that the profile does not allow."""
    judge = Judge(profile)
    judge.feed(html)
    judge.close()
    assert judge.problems == [], (judge.problems[:5], html[:500])
    assert judge.open == [], (judge.open, html[:500])
    assert len(judge.ids) == len(set(judge.ids)), judge.ids
    return judge
