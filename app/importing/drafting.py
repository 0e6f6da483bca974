"""Turning a planned issue into arguments of the verbs; a dry run ends here."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from app.accounts.models import User
from app.core import text
from app.core.clock import iso
from app.core.errors import InvalidField
from app.database.session import session
from app.importing import messages, words
from app.importing.issues import Issue, IssueComment
from app.importing.report import ImportReport
from app.projects import states
from app.projects.models import StateCategory, WorkflowState
from app.tickets import links
from app.tickets.importing import ImportedComment
from app.tickets.models import Priority


class People:
    """Active users who may see the project, by their names in a file.

    An explicit mapping in ``usernames`` takes precedence over a username, and a username over a
    unique display name.
    """

    def __init__(self, project_id: str, usernames: Mapping[str, str]) -> None:
        rows = session.execute(
            select(User.id, User.username, User.display_name, User.project_ids)
            .where(User.is_active)
            .order_by(User.id)
        ).all()
        users = [row for row in rows if not row.project_ids or project_id in row.project_ids]
        counts = Counter(_key(row.display_name) for row in users)
        self._ids = {
            _key(row.display_name): row.id for row in users if counts[_key(row.display_name)] == 1
        }
        self._ids.update({_key(row.username): row.id for row in users})
        self.unknown = [name for name in usernames.values() if _key(name) not in self._ids]
        self.names = {row.id: row.username for row in users}
        self._ids.update(
            {
                _key(name): self._ids[_key(username)]
                for name, username in usernames.items()
                if _key(username) in self._ids
            }
        )

    def find(self, name: str) -> str | None:
        """The id of the user with this name in the file, if known."""
        return self._ids.get(_key(name)) if name else None


def _key(name: str) -> str:
    return name.strip().removeprefix("@").casefold()


@dataclass(frozen=True, slots=True)
class DraftTicket:
    """A ticket whose labels and parent are not yet resolved to ids."""

    issue: Issue
    title: str
    body: str
    state: WorkflowState
    priority: Priority
    assignee_user_id: str | None
    reporter_user_id: str | None
    labels: tuple[str, ...]
    comments: tuple[ImportedComment, ...]
    # (title, address)
    pages: tuple[tuple[str, str], ...]
    written_at: tuple[int, int] | None


class Drafter:
    """Drafts tickets for one project; ``usernames`` maps names of the file."""

    def __init__(self, project_id: str, report: ImportReport, usernames: Mapping[str, str]) -> None:
        self.report = report
        self.people = People(project_id, usernames)
        self.states = states.ordered(project_id)

    def draft(self, issue: Issue) -> DraftTicket:
        """The ticket of an issue; notes the differences."""
        assignee = self.people.find(issue.assignee)
        if issue.assignee and assignee is None:
            self.report.note(issue.id, messages.ASSIGNEE_NOT_A_USER, issue.assignee)
        title = issue.title.replace("\x00", "").strip()
        if not title.isprintable():
            title = " ".join(title.split())
        if len(title) > text.NAME_LENGTH:
            self.report.note(issue.id, messages.TITLE_TOO_LONG)
        return DraftTicket(
            issue=issue,
            title=title[: text.NAME_LENGTH],
            body=self._body(issue, title, assignee),
            state=self._state(issue),
            priority=self._priority(issue),
            assignee_user_id=assignee,
            reporter_user_id=self.people.find(issue.author),
            labels=self._labels(issue),
            pages=tuple(page for page in issue.pages if _is_link(page[1])),
            comments=tuple(self._comment(issue, one) for one in issue.comments if one.text.strip()),
            written_at=_written_at(issue),
        )

    def _priority(self, issue: Issue) -> Priority:
        if 0 <= issue.priority < len(words.PRIORITIES):
            return words.PRIORITIES[issue.priority]
        self.report.note(issue.id, messages.UNKNOWN_PRIORITY, str(issue.priority))
        return Priority.MEDIUM

    def _state(self, issue: Issue) -> WorkflowState:
        """The state with the same name, else the first state of the status's category."""
        status = text.name_key(issue.status)
        for state in self.states:
            if state.name_key == status:
                return state
        for name in (_word(status), words.STATE_NAMES.get(status)):
            for state in self.states:
                if _word(state.name_key) == name:
                    return state
        category = issue.category
        if category is not None:
            self.report.note(issue.id, messages.NO_SUCH_STATE, issue.status)
        else:
            category = words.category(issue.status_meaning) or words.category(issue.status)
        if category is None:
            category = StateCategory.ACTIVE
            self.report.note(issue.id, messages.UNKNOWN_STATUS, issue.status)
        candidates = [state for state in self.states if state.category == category]
        return (candidates or list(self.states))[0]

    def _labels(self, issue: Issue) -> tuple[str, ...]:
        """The names of labels, cut to their limit; an unusual kind of issue is one."""
        kinds = () if issue.kind.casefold() in words.PLAIN_KINDS else (issue.kind,)
        names = [name.replace("\x00", "").strip() for name in (*issue.labels, *kinds)]
        for name in names:
            if len(name) > text.NAME_LENGTH:
                self.report.note(issue.id, messages.LABEL_TOO_LONG, name[: text.NAME_LENGTH])
        return tuple(name[: text.NAME_LENGTH].strip() for name in names if name)

    def _comment(self, issue: Issue, comment: IssueComment) -> ImportedComment:
        """The comment, with its author's name if the importing user becomes its author here."""
        author_id = self.people.find(comment.author)
        named = (comment.author and author_id is None) or comment.when
        head = messages.wrote(comment.author, comment.when) if named else ""
        body = f"{head}{comment.text}".replace("\x00", "")
        if len(body) > text.BODY_LENGTH:
            self.report.note(issue.id, messages.COMMENT_TOO_LONG)
        return ImportedComment(body[: text.BODY_LENGTH], comment.written_at, author_id)

    def _body(self, issue: Issue, title: str, assignee: str | None) -> str:
        """The sections of the issue, then a line with its origin."""
        parts = [title] if len(title) > text.NAME_LENGTH else []
        parts += [
            f"## {heading}\n\n{section}" if heading else section
            for heading, section in issue.sections
        ]
        others = [page for page in issue.pages if not _is_link(page[1])]
        if others:
            parts.append("\n".join(["## Links\n", *(f"- [{name}]({url})" for name, url in others)]))
        name = f"[{issue.id}]({issue.address})" if issue.address else issue.id
        origin = [messages.imported_from(name)]
        if issue.author and self.people.find(issue.author) is None:
            origin.append(messages.created_by(issue.author))
        if issue.assignee and assignee is None:
            origin.append(messages.assigned_to(issue.assignee))
        if issue.closing or issue.closed_at is not None:
            day = f" {iso(issue.closed_at)[:10]}" if issue.closed_at is not None else ""
            origin.append(f"closed{day}" + (f": {issue.closing}" if issue.closing else ""))
        origin += issue.origins
        content = "\n\n".join(parts).replace("\x00", "")
        rule = "\n\n---\n\n" if content.strip() else ""
        ending = f"{rule}{', '.join(origin)}".replace("\x00", "")[: text.BODY_LENGTH]
        room = text.BODY_LENGTH - len(ending)
        if len(content) > room:
            self.report.note(issue.id, messages.DESCRIPTION_TOO_LONG)
        return content[:room] + ending


def _is_link(address: str) -> bool:
    """Whether a ticket can have a link to this address; others go into the ticket's text."""
    try:
        links.checked_url(address)
    except InvalidField:
        return False
    return True


def _word(name: str) -> str:
    """A status without separators, so that ``To Do``, ``todo`` and ``to_do`` are the same."""
    return name.replace(" ", "").replace("_", "").replace("-", "")


def _written_at(issue: Issue) -> tuple[int, int] | None:
    if issue.created_at is None:
        return None
    return issue.created_at, max(issue.created_at, issue.updated_at or 0)
