"""A project with something of everything, created over REST before the browser opens."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.serving import Served

PASSWORD = "a calm sentence"


@dataclass
class Seeded:
    """A set-up server: its session cookie, and ids by name."""

    served: Served
    cookie: str
    ids: dict[str, str] = field(default_factory=dict)
    bot_token: str = ""

    @property
    def url(self) -> str:
        """The server's address."""
        return self.served.url

    def call(self, method: str, path: str, body: Any = None, *, as_bot: bool = False) -> Any:
        """Call REST as Ada, or as the bot."""
        headers = {"X-API-Key": self.bot_token} if as_bot else {"Cookie": self.cookie}
        answer = self.served.request(method, f"/api/v1{path}", body, **headers)
        assert answer.status < 300, answer.body
        return answer.json if answer.body else None

    def ticket(self, title: str, **fields: Any) -> str:
        """Create a ticket in DEMO and return its display id."""
        path = f"/projects/{self.ids['project']}/tickets"
        return self.call("POST", path, {"title": title, **fields})["display_id"]


def seed(served: Served) -> Seeded:
    """Set up the server and fill one project."""
    answer = served.request(
        "POST",
        "/api/v1/setup/admin",
        {"username": "ada", "password": PASSWORD, "display_name": "Ada Berg"},
    )
    assert answer.status == 201, answer.body
    made = Seeded(served, answer.headers["Set-Cookie"].partition(";")[0])
    made.ids["ada"] = answer.json["user"]["id"]
    project = made.call("POST", "/projects", {"key": "DEMO", "name": "Demo project"})["id"]
    made.ids["project"] = project
    for name, color in (("bug", "#d1242f"), ("docs", "#0969da")):
        label = made.call("POST", f"/projects/{project}/labels", {"name": name, "color": color})
        made.ids[name] = label["id"]
    for state in made.call("GET", f"/projects/{project}/workflow-states")["data"]:
        made.ids[state["name"]] = state["id"]
    bot = made.call(
        "POST", "/bots", {"username": "bot-dev-1", "mode": "write", "project_ids": [project]}
    )
    made.ids["bot"], made.bot_token = bot["bot"]["id"], bot["plaintext_token"]
    _tickets(made)
    return made


def _tickets(made: Seeded) -> None:
    """DEMO-1 is rich: parent, subtasks, labels, comments, relations, watchers. DEMO-6 is plain."""
    epic = made.call(
        "POST",
        f"/projects/{made.ids['project']}/tickets",
        {"title": "The epic above", "type": "epic"},
    )
    rich = made.call(
        "POST",
        f"/projects/{made.ids['project']}/tickets",
        {
            "title": "A rich ticket",
            "body": "First line\n\n    indented <b>not bold</b>",
            "priority": "urgent",
            "label_ids": [made.ids["bug"], made.ids["docs"]],
            "assignee_user_id": made.ids["bot"],
            "due_date": "2020-02-01",
            "parent_ticket_id": epic["id"],
            "state_id": made.ids["To do"],
        },
    )
    made.ids["rich"] = rich["id"]
    for title, state in (("A done part", "Done"), ("An open part", "To do")):
        made.ticket(title, type="subtask", parent_ticket_id=rich["id"], state_id=made.ids[state])
    blocker = made.ticket("A blocker", priority="high", state_id=made.ids["In progress"])
    made.call(
        "POST",
        f"/tickets/{blocker}/relations",
        {"type": "blocks", "target_ticket_id": rich["display_id"]},
    )
    made.ticket("A plain ticket", state_id=made.ids["To do"])
    made.call("POST", f"/tickets/{rich['id']}/watchers", {})
    made.call("POST", f"/tickets/{rich['id']}/comments", {"body": "By Ada."})
    made.call("POST", f"/tickets/{rich['id']}/comments", {"body": "By the bot."}, as_bot=True)
    made.ids["rich_ref"] = rich["display_id"]
