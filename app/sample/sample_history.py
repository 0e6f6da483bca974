"""The history of the sample project: tool calls by two bots and a person.

Calls by bots go into the tool log, refused ones too. In texts, SAMPLE stands for the project's key
and PERSON for the person who loads it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.audit.service import record_refusal_here
from app.core import ids
from app.core.actor import Actor
from app.core.errors import DomainError
from app.core.ids import on_behalf_of
from app.mcp import parameters, tool_log
from app.mcp.jsonrpc import refusal
from app.mcp.registry import Catalog, ToolCall

WRITER, CHECKER, PERSON = "sample-writer", "sample-checker", "PERSON"
BOTS = ((WRITER, "Sample writer"), (CHECKER, "Sample checker"))


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool; ``is_refused`` if the tool must refuse it."""

    who: str
    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    is_refused: bool = False


def _step(who: str, tool: str, *, is_refused: bool = False, **args: Any) -> Step:
    return Step(who, tool, args, is_refused)


_writer = partial(_step, WRITER)
_checker = partial(_step, CHECKER)
_person = partial(_step, PERSON)

KEYS = """\
| Key | Action |
| --- | --- |
| `Ctrl+K` | Open the command palette |
| `g` `h` | Go to My work |
| `g` `b` | Go to the board |
| `c` | Create a ticket |
| `j` `k` | Move through a list |
| `?` | Show all shortcuts |

You can turn off single-letter shortcuts in your profile. Try them in [[ticket:SAMPLE-8]]. If you
press the wrong key, see [[undo]].
"""
UNDO = """\
You can undo almost anything.

- Right after a change, a message at the bottom of the page offers **Undo**.
- A ticket's activity has an *Undo* button for each change.
- *Bots → Review* shows everything a bot did, grouped by request. You can undo a whole request.

If someone has changed the same thing since, you see both values and decide. The rules for bots
are in [[agents]].
"""
FIRST_END = """\
The change is recorded in your name. Try it on SAMPLE-22.
"""
BETTER_END = """\
Undoing is a normal change in your name. It is recorded like any other change, and you can undo it
too. Try it on SAMPLE-22.
"""

BEFORE = (
    _person("add_ticket_relation", ticket="SAMPLE-17", type="blocks", target="SAMPLE-16"),
    _person("add_ticket_relation", ticket="SAMPLE-24", type="relates_to", target="SAMPLE-5"),
    _person("watch_ticket", ticket="SAMPLE-20"),
    _person("watch_ticket", ticket="SAMPLE-22"),
    _person("add_comment", ticket="SAMPLE-5", body="Let's see how this works."),
    _person("transition_ticket", ticket="SAMPLE-15", state="Done", comment="And the bar moved."),
    # The writer reads.
    _writer("get_self"),
    _writer("list_projects"),
    _writer("get_project", project="SAMPLE"),
    _writer("get_wiki_page", page="agents", project="SAMPLE"),
    _writer("list_tickets", project="SAMPLE", ready=True),
    # The writer works on SAMPLE-20.
    _writer("update_ticket", ticket="SAMPLE-20", assignee="me", expected_assignee="none"),
    _writer(
        "transition_ticket", ticket="SAMPLE-20", state="In progress", comment="I'll take this one."
    ),
    _writer(
        "update_ticket",
        ticket="SAMPLE-20",
        edits=[
            {"find": "A bot edited this text.", "replace": "Two bots edited this text."},
            {
                "find": "You can undo the edit too.",
                "replace": "You can undo each edit too, or everything a bot did in one request.",
            },
        ],
    ),
    _writer(
        "create_wiki_page", project="SAMPLE", slug="keys", title="Keyboard shortcuts", body=KEYS
    ),
    _writer(
        "create_wiki_page",
        project="SAMPLE",
        slug="undo",
        title="Undo",
        body=UNDO + FIRST_END,
    ),
    _writer("add_ticket_relation", ticket="SAMPLE-20", type="relates_to", target="SAMPLE-22"),
    _writer(
        "transition_ticket",
        ticket="SAMPLE-20",
        state="In review",
        comment="I made the text clearer and added [[undo]].\n\n@sample-checker, please review.",
    ),
    # The checker reviews it and files a bug.
    _checker("get_self"),
    _checker("get_ticket", ticket="SAMPLE-20"),
    _checker("list_comments", ticket="SAMPLE-20", include_body=True),
    _checker(
        "update_ticket",
        ticket="SAMPLE-20",
        edits=[
            {
                "find": ", find the edit and expand it.",
                "replace": " and expand *What changed*.",
            }
        ],
    ),
    _checker(
        "add_comment",
        ticket="SAMPLE-20",
        body="I shortened one sentence. Otherwise it looks good to me.",
    ),
    _checker("get_wiki_page", page="keys", project="SAMPLE"),
    _checker(
        "create_ticket",
        project="SAMPLE",
        title="The shortcuts page is missing notes",
        body="`g` then `s` opens the notes, but [[keys]] doesn't list it.",
        labels=["bug", "wiki"],
        priority="low",
        parent="SAMPLE-4",
        state="To do",
    ),
    _checker("add_ticket_relation", ticket="SAMPLE-29", type="relates_to", target="SAMPLE-8"),
    # The writer fixes it; its first attempt names an unknown state.
    _writer("update_ticket", ticket="SAMPLE-29", assignee="me", expected_assignee="none"),
    _writer("transition_ticket", ticket="SAMPLE-29", state="In progress"),
    _writer(
        "update_wiki_page",
        page="keys",
        project="SAMPLE",
        edits=[
            {
                "find": "| `g` `b` | Go to the board |",
                "replace": "| `g` `b` | Go to the board |\n| `g` `s` | Go to the notes |",
            }
        ],
        summary="Add the notes",
    ),
    _writer("transition_ticket", ticket="SAMPLE-29", state="Finished", is_refused=True),
    _writer(
        "transition_ticket",
        ticket="SAMPLE-29",
        state="Done",
        comment="The page lists notes now.",
    ),
    _checker(
        "update_wiki_page",
        page="undo",
        project="SAMPLE",
        edits=[{"find": FIRST_END, "replace": "\n" + BETTER_END}],
        summary="Explain undo",
    ),
    _writer(
        "create_ticket",
        project="SAMPLE",
        title="Document how to import tickets",
        body="*Import issues* reads CSV, Jira and GitHub files. A page about it would help new team"
        " members.",
        labels=["wiki"],
        parent="SAMPLE-4",
    ),
    _writer(
        "create_sticky_note",
        project="SAMPLE",
        body="From Sample writer: SAMPLE-30 needs someone who has imported tickets before.",
        color="#ddd6fe",
    ),
    # Changes for the person to undo.
    _checker("update_ticket", ticket="SAMPLE-22", priority="urgent", labels=["bots"]),
    _checker(
        "transition_ticket",
        ticket="SAMPLE-22",
        state="Done",
        comment="I think this is done. (It isn't: please undo this.)",
    ),
    _checker("update_ticket", ticket="SAMPLE-19", priority="high"),
    # A question to the person.
    _writer("update_ticket", ticket="SAMPLE-21", assignee="me", expected_assignee="none"),
    _writer(
        "add_comment",
        ticket="SAMPLE-21",
        body="@PERSON, should the page about importing go in this project or in the workspace wiki?"
        " I can do either.",
    ),
    _writer("update_ticket", ticket="SAMPLE-21", assignee="PERSON"),
    _person("add_comment", ticket="SAMPLE-20", body="Thank you both, this reads well."),
    _person("transition_ticket", ticket="SAMPLE-20", state="Done"),
)

# After the checker is made read-only and its change of SAMPLE-19 is undone.
AFTER = (
    _checker("transition_ticket", ticket="SAMPLE-23", state="Done", is_refused=True),
    _checker("get_ticket", ticket="SAMPLE-23"),
    _writer(
        "add_comment",
        ticket="SAMPLE-23",
        body="@sample-checker was refused here. Its page and the audit log show why.",
    ),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """Runs steps; ``named`` replaces the placeholders in a text."""

    catalog: Catalog
    # The actor of this name, resolved for each call.
    actor_of: Callable[[str], Actor]
    named: Callable[[str], str]

    def run(self, step: Step) -> None:
        """Call the tool; raises its DomainError unless the step expects a refusal."""
        actor = self.actor_of(step.who)
        args = self._filled(step.args)
        tool = self.catalog.tools[step.tool]
        # The events of a call share a request id, so that pages can undo them together.
        with on_behalf_of(ids.new_id()):
            started = time.perf_counter()
            status, message = tool_log.OK, None
            try:
                tool.calls.admit(actor)
                loaded = parameters.load(tool.parameters, args, elsewhere=tool.elsewhere)
                tool.view(ToolCall(actor, loaded))
            except DomainError as error:
                if not step.is_refused:
                    raise
                status = error.code
                message = refusal(error, tool.parameters)["error"]["message"]
                record_refusal_here(actor, error, step.tool)
            if actor.is_bot:
                took = time.perf_counter() - started
                tool_log.write(
                    tool_log.entry(
                        actor, step.tool, args, status=status, message=message, took=took
                    )
                )

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.named(value)
        if isinstance(value, list):
            return [self._filled(inner) for inner in value]
        if isinstance(value, Mapping):
            return {name: self._filled(inner) for name, inner in value.items()}
        return value
