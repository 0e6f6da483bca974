"""get_self, and the tools of projects."""

from functools import partial
from typing import Any

from app.accounts.models import BotMode
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField
from app.core.waiting import MAX_WAIT_SECONDS, await_news
from app.inbox import bot_news
from app.mcp.jsonrpc import rows
from app.mcp.parameters import PAGE, integer, needed, text
from app.mcp.registry import Toolbox, ToolCall
from app.projects import labels, service, states
from app.projects.builders import label_json, project_json, state_json
from app.tickets import sign_off, templates
from app.tickets.models import TicketTemplate
from app.tools import messages, naming, resources
from app.tools.naming import PROJECT
from app.tools.reading import keep_seen

toolbox = Toolbox()


@operation(Access.READ)
def own_identity(actor: Actor) -> dict[str, Any]:
    return {
        "user_id": actor.id,
        "username": actor.username,
        "display_name": actor.display_name,
        "mode": (BotMode.WRITE if actor.may_write else BotMode.READ).value,
        "project_allowlist": sorted(actor.allowlist),
    }


# When to ask again after a call could not wait.
RETRY_SECONDS = 5
SINCE = text("since", "Repeat news from here: news_cursor, or a time in UTC.")
WAIT = integer("wait", "Seconds to wait for news.", minimum=0, maximum=MAX_WAIT_SECONDS)


@toolbox.tool("get_self", "Who am I", calls=own_identity, parameters=(SINCE, WAIT))
def get_self(call: ToolCall) -> dict[str, Any]:
    """Call this first: your username, mode (read or write), project allowlist (empty means all
    projects) and news. Call it between tasks, too: news is what others did since your last call on
    tickets that you hold, created, commented on, watch or are mentioned on.
    """
    seconds = call["wait"] or 0
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise InvalidField("wait", "out_of_range", messages.wait_out_of_range(MAX_WAIT_SECONDS))
    news = bot_news.news_of_bot(call.actor, call["since"])
    waited: dict[str, Any] = {}
    if seconds and not news.rows and not await_news(call.actor, seconds):
        waited = {"waited": False, "retry_after_seconds": RETRY_SECONDS}
    if news.must_store_cursor:
        call.log_writes.append(partial(bot_news.store_cursor, call.actor, news.cursor))
    keep_seen(call.log_writes, call.actor, news.seen)
    return {**own_identity(call.actor), **_news(news), **waited}


def _news(news: bot_news.BotNews) -> dict[str, Any]:
    found: dict[str, Any] = {"news": news.rows}
    if news.rows:
        found["news_cursor"] = news.cursor
    if news.has_more:
        found["more_news"] = True
    return found


@toolbox.tool("list_projects", "List projects", calls=service.list_projects, parameters=PAGE)
def list_projects(call: ToolCall) -> dict[str, Any]:
    """Projects you can see, newest first."""
    page = service.list_projects(call.actor, **call.window)
    return rows(page.collection)


@toolbox.tool(
    "get_project", "Get project", calls=service.get_project, parameters=(needed(PROJECT),)
)
def get_project(call: ToolCall) -> dict[str, Any]:
    """One project with its workflow_states in order, labels and templates. If it has guide, read
    that resource first: people's house rules for bots.
    """
    project_id = naming.project_id(call.actor, call["project"])
    project = service.get_project(call.actor, project_id)
    return {
        **project_json(project),
        **sign_off.sign_off_rule(
            sign_off=project.sign_off, review_state_id=project.review_state_id
        ),
        "workflow_states": [state_json(state) for state in states.ordered(project.id)],
        "labels": [label_json(label) for label in labels.by_name(project.id)],
        "templates": [_template(one) for one in templates.of_project(project.id)],
        **resources.guide_of(project.id),
    }


def _template(template: TicketTemplate) -> dict[str, Any]:
    """A template without its body, which create_ticket fills in."""
    return {name: getattr(template, name) for name in ("id", "name", "title", "type", "priority")}
