"""The commands of the palette: places to go to, and forms to open."""

from dataclasses import dataclass, replace
from typing import Any

from app.search.words import words
from app.search_ui import messages

WORKSPACE = (
    (messages.NEW_TICKET, "/tickets/new", "plus"),
    (messages.MY_WORK, "/", "home"),
    (messages.INBOX, "/inbox", "inbox"),
    (messages.PROJECTS, "/projects", "grid"),
    (messages.WIKI, "/wiki", "page"),
    (messages.MY_NOTES, "/sticky-notes", "note"),
    (messages.BOTS, "/bots", "bot"),
    (messages.WEBHOOKS, "/webhooks", "link"),
    (messages.INTEGRATIONS, "/integrations", "code"),
    (messages.PEOPLE, "/people", "people"),
    (messages.PROFILE_AND_APPEARANCE, "/profile", "person"),
    (messages.HELP, "/help", "help"),
    (messages.KEYBOARD_SHORTCUTS, "/help/shortcuts", "keyboard"),
    (messages.CONNECT_AN_AGENT, "/help/agents", "bot"),
    (messages.IMPORT_ISSUES, "/import", "import"),
    (messages.EXPORT, "/export", "export"),
    (messages.NEW_WIKI_PAGE, "/wiki/new", "plus"),
    (messages.NEW_PROJECT, "/projects/new", "plus"),
    (messages.GET_STARTED, "/start", "star"),
    (messages.BROKEN_LINKS, "/wiki/broken-links", "unlink"),
)
# `~` stands for the project's key.
OF_PROJECT = (
    (messages.BOARD_OF_PROJECT, "/projects/~/board", "board"),
    (messages.NEW_TICKET_OF_PROJECT, "/tickets/new?project=~", "plus"),
    (messages.TICKETS_OF_PROJECT, "/projects/~/tickets", "list"),
    (messages.WIKI_OF_PROJECT, "/projects/~/wiki", "page"),
    (messages.NEW_WIKI_PAGE_OF_PROJECT, "/projects/~/wiki/new", "plus"),
    (messages.NOTES_OF_PROJECT, "/projects/~/sticky-notes", "note"),
    (messages.OVERVIEW_OF_PROJECT, "/projects/~", "home"),
    (messages.ACTIVITY_OF_PROJECT, "/projects/~/activity", "clock"),
    (messages.SETTINGS_OF_PROJECT, "/projects/~/settings/general", "gear"),
)
# Actions on a ticket: the key of the element that performs it, and the page to use without it.
OF_TICKET = (
    (messages.CHANGE_STATE, "state", "/fields/state", "board"),
    (messages.ASSIGN, "assignee", "/fields/assignee", "person"),
    (messages.ASSIGN_TO_ME, "me", "/fields/assignee", "person"),
    (messages.EDIT_LABELS, "labels", "/fields/labels", "tag"),
    (messages.SET_PRIORITY, "priority", "/fields/priority", "alert"),
    (messages.SET_DUE_DATE, "due_date", "/fields/due_date", "clock"),
    (messages.SET_PARENT, "parent", "/fields/parent", "list"),
    (messages.EDIT_TITLE, "edit", "/fields/title", "pencil"),
    (messages.WATCH_OR_STOP_WATCHING, "watch", "", "eye"),
    (messages.COPY_LINK, "copy-link", "", "copy"),
    (messages.COPY_PROMPT_FOR_AN_AGENT, "copy-prompt-for-an-agent", "", "copy"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A link to a place, or an action of the current page."""

    label: str
    address: str
    icon: str
    # Shown beside the label: the project's name.
    note: str
    # The folded words that find it.
    words: tuple[str, ...]
    # The folded words of the label, joined.
    folded_label: str
    # The key of the element of the page that performs it.
    press: str = ""

    def matches(self, typed: list[str]) -> bool:
        """Whether each typed word is a prefix of one of its words."""
        return all(any(word.startswith(prefix) for word in self.words) for prefix in typed)

    def begins_with(self, typed: list[str]) -> bool:
        """Whether the label starts with the typed words."""
        return bool(typed) and self.folded_label.startswith(" ".join(typed))


def commands(projects: list[dict[str, Any]], here: str) -> list[Command]:
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
    """Actions on the ticket whose page is open."""
    return [
        replace(_command(named, f"/tickets/{reference}{path}", icon), press=key)
        for named, key, path, icon in OF_TICKET
    ]


def matching(available: list[Command], typed: str, limit: int) -> list[Command]:
    """The commands that match the typed text, those that begin with it first."""
    typed_words = words(typed)
    found = [command for command in available if command.matches(typed_words)]
    found.sort(key=lambda command: not command.begins_with(typed_words))
    return found[:limit]


def _command(named: tuple[str, str], address: str, icon: str, note: str = "") -> Command:
    label, keywords = named
    searchable = tuple(words(f"{label} {note} {keywords}"))
    return Command(label, address, icon, note, searchable, " ".join(words(label)))


def _of_project(project: dict[str, Any]) -> list[Command]:
    """The project itself, then its places."""
    key, name = project["key"], project["name"]
    return [
        _command((name, messages.KEYWORDS_OF_PROJECTS), f"/projects/{key}/board", "grid", note=key),
        *(
            _command((label.replace("~", key), keywords), address.replace("~", key), icon, name)
            for (label, keywords), address, icon in OF_PROJECT
        ),
    ]
