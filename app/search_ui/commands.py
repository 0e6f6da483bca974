"""What the palette can do besides finding: go to a place of the workspace, or begin something."""

from dataclasses import dataclass
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
    ("People", "/people", "people", "users"),
    ("Profile and theme", "/profile", "person", "settings dark light password"),
    ("Help", "/help", "help", "manual guide how what where"),
    ("Keyboard shortcuts", "/help/shortcuts", "keyboard", "keys help"),
    ("Help for agents", "/help/agents", "bot", "mcp tools connect configuration api"),
    ("Import issues", "/import", "down", "move in csv jira github file upload"),
    ("Export", "/export", "up", "move out zip markdown download backup"),
    ("New wiki page", "/wiki/new", "plus", "create add write"),
    ("New project", "/projects/new", "plus", "create add"),
    ("First steps", "/start", "star", "sample project welcome begin"),
    ("Broken links", "/wiki/broken-links", "unlink", "wiki"),
)
# `~` stands for the key.
OF_PROJECT = (
    ("Board of ~", "/projects/~/board", "board", ""),
    ("New ticket in ~", "/tickets/new?project=~", "plus", "create add"),
    ("Tickets of ~", "/projects/~/tickets", "list", "list"),
    ("Wiki of ~", "/projects/~/wiki", "page", "pages"),
    ("New wiki page in ~", "/projects/~/wiki/new", "plus", "create add write"),
    ("Notes of ~", "/projects/~/sticky-notes", "note", "sticky wall"),
    ("Overview of ~", "/projects/~", "home", "about"),
    ("Activity of ~", "/projects/~/activity", "clock", "events happened"),
    ("Settings of ~", "/projects/~/settings/general", "gear", "states labels"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A place to go to."""

    label: str
    address: str
    icon: str
    # What stands beside it: the project's name.
    note: str
    # The words by which it is found, as search folds them; those of the label in order.
    words: tuple[str, ...]
    lead: str

    def fits(self, sought: list[str]) -> bool:
        """Whether each of these is the beginning of one of its words."""
        return all(any(word.startswith(one) for word in self.words) for one in sought)

    def begins_with(self, sought: list[str]) -> bool:
        """Whether its label begins with these words."""
        return bool(sought) and self.lead.startswith(" ".join(sought))


def commands(projects: list[dict[str, Any]], here: str = "") -> list[Command]:
    """All commands: those of the project that the reader is in first; ``here`` is its key."""
    made = [_command(*one) for one in WORKSPACE]
    own = [one for one in projects if one["key"] == here]
    others = [one for one in projects if one["key"] != here]
    # One need not go to where one is.
    of_own = [command for project in own for command in _of(project)[1:]]
    of_others = [command for project in others for command in _of(project)]
    return [*of_own, *made, *of_others]


def matching(among: list[Command], typed: str, limit: int) -> list[Command]:
    """The commands that fit what was typed, those that begin with it first."""
    sought = words(typed)
    found = [command for command in among if command.fits(sought)]
    found.sort(key=lambda command: not command.begins_with(sought))
    return found[:limit]


def _command(label: str, address: str, icon: str, more: str, note: str = "") -> Command:
    found = tuple(words(f"{label} {note} {more}"))
    return Command(label, address, icon, note, found, " ".join(words(label)))


def _of(project: dict[str, Any]) -> list[Command]:
    key, name = project["key"], project["name"]
    own = _command(name, f"/projects/{key}/board", "grid", "project", note=key)
    return [
        own,
        *(
            _command(label.replace("~", key), address.replace("~", key), icon, more, note=name)
            for label, address, icon, more in OF_PROJECT
        ),
    ]
