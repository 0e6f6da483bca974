"""Deliveries from GitLab."""

from collections.abc import Iterator

from app.integrations.payloads import ChangeNews, CheckNews, News, Payload, pushed
from app.tickets.models import LinkChecks, LinkKind, LinkState

PASSING = frozenset({"success", "skipped"})
FAILING = frozenset({"failed", "canceled"})


def read(_event: str, content: Payload) -> Iterator[News]:
    """The news of an event. Its header has a title, such as Push Hook; the payload has its kind."""
    number = content.number("project.id", "project_id")
    if number is None:
        return
    repository = str(number)
    kind = content.body("object_kind")
    if kind == "push":
        home = content.address("project.web_url")
        author = content.line("user_username", "user_name")
        yield from pushed(content, repository, f"{home}/-/tree/", author)
    elif kind == "merge_request":
        yield from _merge_request(content, repository)
    elif kind == "pipeline":
        yield from _pipeline(content, repository)


def _merge_request(content: Payload, repository: str) -> Iterator[ChangeNews]:
    number = content.number("object_attributes.iid")
    if number is None:
        return
    default = content.body("project.default_branch")
    target = content.body("object_attributes.target_branch")
    state = _state(content)
    yield ChangeNews(
        key=f"{repository}/pull_request/{number}",
        kind=LinkKind.PULL_REQUEST,
        url=content.address("object_attributes.url"),
        title=content.line("object_attributes.title") or f"!{number}",
        # The acting user may not be the author, whom GitLab only identifies by number.
        author=content.line("object_attributes.last_commit.author.name") or None,
        state=state,
        head=content.commit("object_attributes.last_commit.id"),
        at=content.moment("object_attributes.updated_at"),
        texts=(
            content.body("object_attributes.title"),
            content.body("object_attributes.description"),
        ),
        branch=content.body("object_attributes.source_branch"),
        merges=(
            state is LinkState.MERGED
            and content.body("object_attributes.action") == "merge"
            and default in ("", target)
        ),
    )


def _state(content: Payload) -> LinkState:
    word = content.body("object_attributes.state")
    if word == "merged":
        return LinkState.MERGED
    if word in ("closed", "locked"):
        return LinkState.CLOSED
    flags = ("object_attributes.draft", "object_attributes.work_in_progress")
    return LinkState.DRAFT if any(map(content.flag, flags)) else LinkState.OPEN


def _pipeline(content: Payload, repository: str) -> Iterator[CheckNews]:
    commit = content.commit("object_attributes.sha", "commit.id")
    number = content.number("object_attributes.id")
    if commit is None or number is None:
        return
    word = content.body("object_attributes.status")
    checks = LinkChecks.PENDING
    if word in PASSING | FAILING:
        checks = LinkChecks.PASSING if word in PASSING else LinkChecks.FAILING
    at = content.moment("object_attributes.finished_at", "object_attributes.created_at")
    # The newest pipeline of a commit counts.
    yield CheckNews(repository, commit, "pipeline", checks, at, run=number)
