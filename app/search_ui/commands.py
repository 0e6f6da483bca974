"""The commands of the palette: places to go to, and forms to open."""

from dataclasses import dataclass, replace
from typing import Any

from app.search.words import words

WORKSPACE = (
    ("New ticket", "/tickets/new", "plus", "create add"),
    ("My work", "/", "home", "home start"),
    ("Inbox", "/inbox", "inbox", "news unread mentions"),
    ("Projects", "/projects", "grid", "all"),
    ("Wiki", "/wiki", "page", "workspace pages"),
    ("My notes", "/sticky-notes", "note", "sticky wall"),
    ("Bots", "/bots", "bot", "tokens"),
    ("Webhooks", "/webhooks", "link", "deliveries hooks events"),
    ("Integrations", "/integrations", "code", "github gitlab gitea forgejo code pull requests"),
    ("People", "/people", "people", "users"),
    ("Profile and appearance", "/profile", "person", "settings theme dark light password"),
    ("Help", "/help", "help", "manual guide how what where"),
    ("Keyboard shortcuts", "/help/shortcuts", "keyboard", "keys help"),
    ("Connect an agent", "/help/agents", "bot", "mcp tools connect configuration api"),
    ("Import issues", "/import", "import", "move in csv jira github file upload"),
    ("Export", "/export", "export", "move out zip markdown download backup"),
    ("New wiki page", "/wiki/new", "plus", "create add write"),
    ("New project", "/projects/new", "plus", "create add"),
    ("Get started", "/start", "star", "sample project welcome begin"),
    ("Broken links", "/wiki/broken-links", "unlink", "wiki"),
)
# `~` stands for the project's key.
OF_PROJECT = (
    ("Board in ~", "/projects/~/board", "board", ""),
    ("New ticket in ~", "/tickets/new?project=~", "plus", "create add"),
    ("Tickets in ~", "/projects/~/tickets", "list", "list"),
    ("Wiki in ~", "/projects/~/wiki", "page", "pages"),
    ("New wiki page in ~", "/projects/~/wiki/new", "plus", "create add write"),
    ("Notes in ~", "/projects/~/sticky-notes", "note", "sticky wall"),
    ("Overview of ~", "/projects/~", "home", "about"),
    ("Activity in ~", "/projects/~/activity", "clock", "events happened"),
    ("Settings for ~", "/projects/~/settings/general", "gear", "states labels"),
)
# Actions on a ticket: the key of the element that does it, and the page that does it otherwise.
OF_TICKET = (
    ("Change state", "state", "/fields/state", "board", "move to transition status"),
    ("Assign", "assignee", "/fields/assignee", "person", "assignee owner"),
    ("Assign to me", "me", "/fields/assignee", "person", "take claim"),
    ("Edit labels", "labels", "/fields/labels", "tag", "label add tag"),
    ("Set priority", "priority", "/fields/priority", "alert", "urgent high medium low"),
    ("Set due date", "due_date", "/fields/due_date", "clock", "day deadline"),
    ("Set parent", "parent", "/fields/parent", "list", "epic story"),
    ("Edit title", "edit", "/fields/title", "pencil", "rename"),
    ("Watch or stop watching", "watch", "", "eye", "unwatch follow notify"),
    ("Copy link", "copy-link", "", "copy", "address url share"),
    ("Copy prompt for an agent", "copy-prompt-for-an-agent", "", "copy", "bot ai"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A link to a place, or an action of the page at hand."""

    label: str
    address: str
    icon: str
    # Shown beside the label: the project's name.
    note: str
    # The folded words that find it.
    words: tuple[str, ...]
    # The folded words of the label, joined.
    folded_label: str
    # The key of the element of the page that does it.
    press: str = ""

    def matches(self, typed: list[str]) -> bool:
        """Whether each typed word is a prefix of one of its words."""
        return all(any(word.startswith(prefix) for word in self.words) for prefix in typed)

    def begins_with(self, typed: list[str]) -> bool:
        """Whether the label begins with the typed words."""
        return bool(typed) and self.folded_label.startswith(" ".join(typed))


def commands(projects: list[dict[str, Any]], here: str = "") -> list[Command]:
    """All commands; ``here`` is the key of the current project, whose commands come first."""
    own: list[Command] = []
    others: list[Command] = []
    for project in projects:
        if project["key"] == here:
            # No command leads to the project itself.
            own += _of_project(project)[1:]
        else:
            others += _of_project(project)
    return [*own, *(_command(*command) for command in WORKSPACE), *others]


def actions(reference: str) -> list[Command]:
    """What can be done with the ticket whose page is open."""
    return [
        replace(_command(label, f"/tickets/{reference}{path}", icon, keywords), press=key)
        for label, key, path, icon, keywords in OF_TICKET
    ]


def matching(available: list[Command], typed: str, limit: int) -> list[Command]:
    """The commands that match the typed text, those that begin with it first."""
    typed_words = words(typed)
    found = [command for command in available if command.matches(typed_words)]
    found.sort(key=lambda command: not command.begins_with(typed_words))
    return found[:limit]


def _command(label: str, address: str, icon: str, keywords: str, note: str = "") -> Command:
    searchable = tuple(words(f"{label} {note} {keywords}"))
    return Command(label, address, icon, note, searchable, " ".join(words(label)))


def _of_project(project: dict[str, Any]) -> list[Command]:
    """The project itself, then its places."""
    key, name = project["key"], project["name"]
    return [
        _command(name, f"/projects/{key}/board", "grid", "project", note=key),
        *(
            _command(label.replace("~", key), address.replace("~", key), icon, keywords, note=name)
            for label, address, icon, keywords in OF_PROJECT
        ),
    ]
