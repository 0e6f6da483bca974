"""A rewind in words: the names of its subjects, and for each kept value the reason."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from app.accounts.models import User
from app.core.text import pluralize
from app.database.session import session
from app.projects.models import Label, Project
from app.rewind import messages
from app.rewind.others import EXISTS, Key, OtherWrite
from app.rewind.service import Fate, RewindStep, RewoundValue
from app.sticky_notes.service import CONVERTED
from app.tickets.models import Ticket
from app.undo import wording
from app.web.filters import utc
from app.wiki.models import WikiPage

# The most lines of a preview; it counts everything.
MAX_LISTED = 200
_FIELDS = wording.LABELS | {
    EXISTS: messages.EXISTENCE,
    "relation": messages.RELATION,
    "link": messages.LINK,
    "watcher": messages.WATCHER,
    "reaction": messages.REACTION,
    "file": messages.FILE,
    CONVERTED: messages.CONVERSION,
}


@dataclass(slots=True)
class RewindSummary:
    """The sums of several steps, by subject and by action; lists are cut at ``max_listed``."""

    max_listed: int = MAX_LISTED
    events: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    fates: Counter[Fate] = field(default_factory=Counter)
    # For each subject, the number of values put back and of values kept.
    subjects: dict[Key, list[int]] = field(default_factory=dict)
    kept: list[RewoundValue] = field(default_factory=list)

    def add(self, step: RewindStep) -> None:
        self.events += step.events
        for value in step.values:
            self.fates[value.fate] += 1
            if value.fate is Fate.BACK:
                self.actions[messages.ACTIONS.get(value.event_type, messages.OTHER_ACTION)] += 1
                self._count(value.subject, 0)
            elif value.fate is Fate.KEPT:
                self._count(value.subject, 1)
                if len(self.kept) < self.max_listed:
                    self.kept.append(value)

    def _count(self, subject: Key, which: int) -> None:
        self.subjects.setdefault(subject, [0, 0])[which] += 1

    @property
    def back(self) -> int:
        return self.fates[Fate.BACK]

    @property
    def kept_count(self) -> int:
        return self.fates[Fate.KEPT]

    def counts(self) -> list[tuple[int, str]]:
        """The number of times of each action, the most frequent first."""
        return [(count, pluralize(count, action)) for action, count in self.actions.most_common()]


@dataclass(frozen=True, slots=True)
class SubjectName:
    name: str
    title: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A kept value in words; long texts are omitted."""

    event_id: str
    name: str
    key: Key
    subject: SubjectName
    field: str
    why: str
    now: str
    back: str
    # The event by which others changed it later.
    by_event_id: str | None


def named_subjects(subjects: Iterable[Key]) -> dict[Key, SubjectName]:
    """The names of tickets, pages, notes and labels; needs a unit of work."""
    found: dict[Key, SubjectName] = {}
    ids: dict[str, list[str]] = {kind: [] for kind in NOUNS}
    for kind, identifier in subjects:
        ids[kind].append(identifier)
        found[(kind, identifier)] = SubjectName(NOUNS[kind])
    found |= {("ticket", one): name for one, name in _tickets(ids["ticket"]).items()}
    found |= {("page", one): name for one, name in _pages(ids["page"]).items()}
    labels = select(Label.id, Label.name).where(Label.id.in_(ids["label"]))
    found |= {
        ("label", row.id): SubjectName(messages.LABEL, row.name) for row in session.execute(labels)
    }
    return found


NOUNS = {
    "ticket": messages.TICKET,
    "page": messages.PAGE,
    "note": messages.NOTE,
    "label": messages.LABEL,
}


def _tickets(ticket_ids: Sequence[str]) -> dict[str, SubjectName]:
    columns = (Ticket.id, Ticket.display_id, Ticket.title)
    return {
        row.id: SubjectName(row.display_id, row.title, f"/tickets/{row.display_id}")
        for row in session.execute(select(*columns).where(Ticket.id.in_(ticket_ids)))
    }


def _pages(page_ids: Sequence[str]) -> dict[str, SubjectName]:
    statement = (
        select(WikiPage.id, WikiPage.slug, WikiPage.title, Project.key)
        .outerjoin(Project, Project.id == WikiPage.project_id)
        .where(WikiPage.id.in_(page_ids))
    )
    return {
        row.id: SubjectName(
            row.slug,
            row.title,
            f"/projects/{row.key}/wiki/{row.slug}" if row.key else f"/wiki/{row.slug}",
        )
        for row in session.execute(statement)
    }


def kept_lines(kept: Sequence[RewoundValue]) -> list[KeptLine]:
    """The kept values in words; needs a unit of work."""
    names = named_subjects({value.subject for value in kept})
    values = {side for value in kept for side in (value.now, value.back) if isinstance(side, str)}
    labels = {value.name.removeprefix("label ") for value in kept}
    called = wording.usernames_of([*values, *labels])
    by = {value.why.user_id for value in kept if isinstance(value.why, OtherWrite)}
    people = {
        row.id: row.display_name
        for row in session.execute(select(User.id, User.display_name).where(User.id.in_(by)))
    }
    return [
        KeptLine(
            value.event_id,
            value.name,
            value.subject,
            names[value.subject],
            _field(value, called),
            _why(value.why, people),
            _said(value, value.now, called),
            _said(value, value.back, called),
            value.why.event_id if isinstance(value.why, OtherWrite) else None,
        )
        for value in kept
    ]


def _field(value: RewoundValue, called: dict[str, str]) -> str:
    if value.name.startswith("label "):
        return messages.label(called.get(value.name.removeprefix("label "), ""))
    is_comment = value.event_type.startswith("comment.")
    if value.name == EXISTS:
        return messages.COMMENT if is_comment else NOUNS[value.subject[0]]
    field = _FIELDS.get(value.name, value.name)
    return messages.of_comment(field) if is_comment else field


def _why(why: OtherWrite | str | None, people: dict[str, str]) -> str:
    if not isinstance(why, OtherWrite):
        return why or ""
    who = people.get(why.user_id or "", messages.DOCKET)
    return messages.changed_by(who, utc(why.at))


def _said(of: RewoundValue, value: Any, called: dict[str, str]) -> str:
    if value is None:
        return wording.NOTHING
    if value is True or value is False:
        is_there = (
            (messages.DOES_NOT_EXIST, messages.EXISTS)
            if of.name in (EXISTS, "file")
            else (messages.NO, messages.YES)
        )
        return is_there[value]
    return called.get(value, value) if isinstance(value, str) else messages.A_TEXT
