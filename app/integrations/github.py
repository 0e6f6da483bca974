"""Deliveries from GitHub. Gitea and Forgejo send the same events in the same format."""

from collections.abc import Iterator

from app.integrations.payloads import ChangeNews, CheckNews, News, Payload, pushed
from app.tickets.models import LinkChecks, LinkKind, LinkState

PASSING = frozenset({"success", "neutral", "skipped"})
FAILING = frozenset({"failure", "error", "cancelled", "timed_out", "action_required", "warning"})


def read(event: str, content: Payload, branches: str = "/tree/") -> Iterator[News]:
    """The news in an event; ``branches`` is the path from a repository to its branches."""
    number = content.number("repository.id")
    if number is None:
        return
    repository = str(number)
    home = content.address("repository.html_url")
    if event == "push":
        author = content.line("sender.login", "pusher.name")
        yield from pushed(content, repository, home + branches, author)
    elif event == "pull_request":
        yield from _pull_request(content, repository)
    elif event == "check_suite":
        yield from _checked(
            content,
            repository,
            content.commit("check_suite.head_sha"),
            f"suite {content.number('check_suite.id') or 0}",
            content.body("check_suite.conclusion") or content.body("check_suite.status"),
            content.moment("check_suite.updated_at"),
        )
    elif event == "status":
        yield from _checked(
            content,
            repository,
            content.commit("sha", "commit.sha", "commit.id"),
            f"status {content.line('context')}"[:200].strip(),
            content.body("state", "status"),
            content.moment("updated_at", "created_at"),
        )


def _pull_request(content: Payload, repository: str) -> Iterator[ChangeNews]:
    number = content.number("pull_request.number", "number")
    if number is None:
        return
    is_merged = content.flag("pull_request.merged")
    default = content.body("repository.default_branch")
    base = content.body("pull_request.base.ref")
    branch = content.body("pull_request.head.ref")
    yield ChangeNews(
        key=f"{repository}/pull_request/{number}",
        kind=LinkKind.PULL_REQUEST,
        url=content.address("pull_request.html_url", "pull_request.url"),
        title=content.line("pull_request.title") or f"#{number}",
        author=content.line("pull_request.user.login", "pull_request.user.username") or None,
        state=_state(content, is_merged=is_merged),
        head=content.commit("pull_request.head.sha"),
        at=content.moment("pull_request.updated_at"),
        texts=(content.body("pull_request.title"), content.body("pull_request.body")),
        branch=branch,
        merges=is_merged and content.body("action") == "closed" and default in ("", base),
    )


def _state(content: Payload, *, is_merged: bool) -> LinkState:
    if is_merged:
        return LinkState.MERGED
    if content.body("pull_request.state") == "closed":
        return LinkState.CLOSED
    return LinkState.DRAFT if content.flag("pull_request.draft") else LinkState.OPEN


def _checked(
    content: Payload, repository: str, commit: str | None, context: str, word: str, at: int
) -> Iterator[CheckNews]:
    if commit is not None:
        yield CheckNews(repository, commit, context, _result(word), at)


def _result(word: str) -> LinkChecks:
    if word in PASSING:
        return LinkChecks.PASSING
    return LinkChecks.FAILING if word in FAILING else LinkChecks.PENDING
