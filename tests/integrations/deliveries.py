"""Payloads in the published format of each code host, reduced to what is read; and signing."""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from werkzeug.test import TestResponse

from tests.support.cast import Cast
from tests.support.story import ok, state_ids

SECRET = "a secret of the code host"
SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
HOME = {
    "github": "https://github.com/docket/app",
    "gitlab": "https://gitlab.example.org/docket/app",
    "gitea": "https://gitea.example.org/docket/app",
    "forgejo": "https://codeberg.org/docket/app",
}
FORGES = tuple(HOME)
_numbers = count(1)


def at(second: int) -> str:
    return f"2026-11-20T10:00:{second:02d}Z"


def pull_request(forge: str, second: int = 0, **given: Any) -> tuple[str, dict[str, Any]]:
    """Return the event and payload about pull request 5."""
    action = given.get("action", "opened")
    state = given.get("state", "open")
    title, body = given.get("title", "Mend the lamp"), given.get("body", "")
    branch, base = given.get("branch", "lamp"), given.get("base", "main")
    if forge == "gitlab":
        return "Merge Request Hook", {
            "object_kind": "merge_request",
            "user": {"username": "grace"},
            "project": {"id": 7, "web_url": HOME[forge], "default_branch": "main"},
            "object_attributes": {
                "iid": 5,
                "title": title,
                "description": body,
                "state": {"open": "opened"}.get(state, state),
                "draft": given.get("draft", False),
                "action": {"opened": "open", "closed": "close"}.get(action, action)
                if state != "merged" or action != "closed"
                else "merge",
                "source_branch": branch,
                "target_branch": base,
                "updated_at": f"2026-11-20 10:00:{second:02d} UTC",
                "url": f"{HOME[forge]}/-/merge_requests/5",
                "last_commit": {"id": given.get("sha", SHA), "author": {"name": "grace"}},
            },
        }
    return "pull_request", {
        "action": action,
        "number": 5,
        "pull_request": {
            "number": 5,
            "html_url": f"{HOME[forge]}/{'pull' if forge == 'github' else 'pulls'}/5",
            "state": "closed" if state == "merged" else state,
            "draft": given.get("draft", False),
            "merged": state == "merged",
            "title": title,
            "body": body,
            "user": {"login": "grace"},
            "head": {"ref": branch, "sha": given.get("sha", SHA)},
            "base": {"ref": base},
            "updated_at": at(second),
        },
        "repository": {"id": 7, "html_url": HOME[forge], "default_branch": "main"},
    }


def push(forge: str, branch: str, *messages: str) -> tuple[str, dict[str, Any]]:
    """Return the event and payload of a push of these commits."""
    commits = [
        {
            "id": hashlib.sha256(message.encode()).hexdigest()[:40],
            "message": message,
            "url": f"{HOME[forge]}/commit/{hashlib.sha256(message.encode()).hexdigest()[:40]}",
            "author": {"name": "Grace", "username": "grace"},
        }
        for message in messages
    ]
    sent = {"ref": f"refs/heads/{branch}", "after": SHA, "commits": commits}
    if forge == "gitlab":
        project = {"id": 7, "web_url": HOME[forge], "default_branch": "main"}
        return "Push Hook", sent | {"object_kind": "push", "project": project}
    repository = {"id": 7, "html_url": HOME[forge], "default_branch": "main"}
    return "push", sent | {"repository": repository, "sender": {"login": "grace"}}


def checked(forge: str, second: int, word: str, run: int = 1) -> tuple[str, dict[str, Any]]:
    """Return the event and payload of a check result: ``success``, ``failure`` or ``pending``."""
    if forge == "gitlab":
        status = {"failure": "failed", "pending": "running"}.get(word, word)
        attributes = {"id": run, "sha": SHA, "status": status, "finished_at": at(second)}
        kind = {"object_kind": "pipeline", "object_attributes": attributes, "project": {"id": 7}}
        return "Pipeline Hook", kind
    repository = {"id": 7, "html_url": HOME[forge]}
    if forge == "github":
        suite: dict[str, Any] = {"id": run, "head_sha": SHA, "updated_at": at(second)}
        suite |= (
            {"status": "in_progress", "conclusion": None}
            if word == "pending"
            else {"status": "completed", "conclusion": word}
        )
        return "check_suite", {
            "action": "completed",
            "check_suite": suite,
            "repository": repository,
        }
    return "status", {
        "sha": SHA,
        "state": word,
        "context": f"ci/{run}",
        "updated_at": at(second),
        "repository": repository,
    }


def signed(forge: str, event: str, body: bytes, secret: str = SECRET) -> dict[str, str]:
    """Return the headers of a delivery."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    delivery = f"delivery-{next(_numbers)}"
    return {
        "github": {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": f"sha256={digest}",
        },
        "gitlab": {"X-Gitlab-Event": event, "X-Gitlab-Token": secret, "Idempotency-Key": delivery},
        "gitea": {"X-Gitea-Event": event, "X-Gitea-Signature": digest},
        "forgejo": {"X-Forgejo-Event": event, "X-Forgejo-Signature": digest},
    }[forge]


@dataclass
class Connected:
    """A connected code host, with the projects OPEN and FENCED by default."""

    cast: Cast
    forge: str = "github"
    moves: bool = True
    project_ids: list[str] = field(default_factory=list)
    integration: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project_ids = self.project_ids or [self.cast.open_project]
        done = state_ids(self.cast.ada, self.project_ids[0])[-1]
        moves = [{"project_id": self.project_ids[0], "state_id": done}] if self.moves else []
        body = {
            "name": "Forge",
            "forge": self.forge,
            "project_ids": self.project_ids,
            "on_merge": moves,
            "secret": SECRET,
        }
        self.integration = self.integration or ok(self.cast.ada.post("/integrations", body), 201)

    @property
    def address(self) -> str:
        return f"/integrations/{self.integration['id']}/events"

    def post(self, body: bytes, headers: dict[str, str], kind: str = "application/json") -> Any:
        client = self.cast.nobody.client
        return client.post(self.address, data=body, headers=headers, content_type=kind)

    def send(self, event: str, payload: Any, secret: str = SECRET) -> TestResponse:
        body = json.dumps(payload).encode()
        answer: TestResponse = self.post(body, signed(self.forge, event, body, secret))
        return answer

    def deliver(self, news: tuple[str, dict[str, Any]]) -> str:
        """Deliver; return the outcome."""
        outcome: str = ok(self.send(*news))["outcome"]
        return outcome

    def links(self, ticket: str = "OPEN-1") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = ok(self.cast.ada.get(f"/tickets/{ticket}/links"))["data"]
        return rows[::-1]

    def state(self, ticket: str = "OPEN-1") -> str:
        name: str = ok(self.cast.ada.get(f"/tickets/{ticket}"))["state"]["name"]
        return name
