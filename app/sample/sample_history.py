"""The history of the sample project: calls of tools by two bots and a person.

Calls by bots go into the tool log, refused ones too. Texts say SAMPLE for the project's key and
PERSON for whoever loads it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from app.audit.service import refused
from app.core import ids
from app.core.actor import Actor
from app.core.context import on_behalf_of
from app.core.errors import DomainError
from app.mcp import parameters, tool_log
from app.mcp.messages import refusal
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
| Key | What it does |
| --- | --- |
| `Ctrl+K` | find anything |
| `g` `h` | my work |
| `g` `b` | the board |
| `c` | a new ticket |
| `j` `k` | walk a list |
| `?` | all keys |

They can be switched off in the profile. Try them in [[ticket:SAMPLE-8]]; a slip of the finger is no
harm, see [[undo]].
"""
UNDO = """\
Nothing here is lost by a wrong click.

- A message at the edge of the page offers **Undo** right after a change.
- The history of a ticket has an *Undo* at each line that can be taken back.
- *Bots → Review* shows all that a bot did, grouped by request, and can undo a whole request.

If somebody has changed the same thing since, both values are shown and you decide. The
rules for bots are in [[agents]].
"""
FIRST_END = """\
The change goes into the history in your name. SAMPLE-22 waits to be tried.
"""
BETTER_END = """\
An undo is an ordinary change in your name: it stands in the history like any other, and it can be
undone as well. SAMPLE-22 waits to be tried.
"""

BEFORE = (
    _person("add_ticket_relation", ticket="SAMPLE-17", type="blocks", target="SAMPLE-16"),
    _person("add_ticket_relation", ticket="SAMPLE-24", type="relates_to", target="SAMPLE-5"),
    _person("watch_ticket", ticket="SAMPLE-20"),
    _person("watch_ticket", ticket="SAMPLE-22"),
    _person("add_comment", ticket="SAMPLE-5", body="Let us see how this works."),
    _person("transition_ticket", ticket="SAMPLE-15", state="Done", comment="And it moved."),
    # The writer reads.
    _writer("get_self"),
    _writer("list_projects"),
    _writer("get_project", project="SAMPLE"),
    _writer("get_wiki_page", page="agents", project="SAMPLE"),
    _writer("list_tickets", project="SAMPLE", ready=True),
    # It works on SAMPLE-20.
    _writer("update_ticket", ticket="SAMPLE-20", assignee="me", expected_assignee="none"),
    _writer(
        "transition_ticket", ticket="SAMPLE-20", state="In progress", comment="I take this one."
    ),
    _writer(
        "update_ticket",
        ticket="SAMPLE-20",
        edits=[
            {"find": "A bot edited this text.", "replace": "Two bots edited this text."},
            {
                "find": "You can undo the edit too.",
                "replace": "You can undo each edit too, or all that a bot did in one request.",
            },
        ],
    ),
    _writer(
        "create_wiki_page", project="SAMPLE", slug="keys", title="Keys worth knowing", body=KEYS
    ),
    _writer(
        "create_wiki_page",
        project="SAMPLE",
        slug="undo",
        title="Taking back",
        body=UNDO + FIRST_END,
    ),
    _writer("add_ticket_relation", ticket="SAMPLE-20", type="relates_to", target="SAMPLE-22"),
    _writer(
        "transition_ticket",
        ticket="SAMPLE-20",
        state="In review",
        comment="The text is clearer now, and [[undo]] says the rest.\n\n@sample-checker, please"
        " read it.",
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
                "find": "find the line that says so and unfold it.",
                "replace": "and unfold *What changed*.",
            }
        ],
    ),
    _checker(
        "add_comment", ticket="SAMPLE-20", body="Shorter by half, otherwise good. I would close it."
    ),
    _checker("get_wiki_page", page="keys", project="SAMPLE"),
    _checker(
        "create_ticket",
        project="SAMPLE",
        title="The page on keys forgets the notes",
        body="`g` then `s` opens the notes, but [[keys]] does not say so.",
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
                "find": "| `g` `b` | the board |",
                "replace": "| `g` `b` | the board |\n| `g` `s` | the notes |",
            }
        ],
        summary="Add the notes",
    ),
    _writer("transition_ticket", ticket="SAMPLE-29", state="Finished", is_refused=True),
    _writer(
        "transition_ticket",
        ticket="SAMPLE-29",
        state="Done",
        comment="The notes are on the page now.",
    ),
    _checker(
        "update_wiki_page",
        page="undo",
        project="SAMPLE",
        edits=[{"find": FIRST_END, "replace": "\n" + BETTER_END}],
        summary="Say what an undo is",
    ),
    _writer(
        "create_ticket",
        project="SAMPLE",
        title="Bring tickets over from elsewhere",
        body="`flask import-issues` reads a file of JSON lines. A page about it would help those"
        " who come after us.",
        labels=["wiki"],
        parent="SAMPLE-4",
    ),
    _writer(
        "create_sticky_note",
        project="SAMPLE",
        body="From the writer: SAMPLE-30 could use a person who did it once.",
        color="#ddd6fe",
    ),
    # Changes for the person to undo.
    _checker("update_ticket", ticket="SAMPLE-22", priority="urgent", labels=["bots"]),
    _checker(
        "transition_ticket",
        ticket="SAMPLE-22",
        state="Done",
        comment="I think this is finished. (It is not: please undo me.)",
    ),
    _checker("update_ticket", ticket="SAMPLE-19", priority="high"),
    # A question to the person.
    _writer("update_ticket", ticket="SAMPLE-21", assignee="me", expected_assignee="none"),
    _writer(
        "add_comment",
        ticket="SAMPLE-21",
        body="@PERSON, should the page on importing be part of this project, or one for everybody?"
        " I can do either.",
    ),
    _writer("update_ticket", ticket="SAMPLE-21", assignee="PERSON"),
    _person("add_comment", ticket="SAMPLE-20", body="Thank you both, that reads well."),
    _person("transition_ticket", ticket="SAMPLE-20", state="Done"),
)

# After the checker is made read-only and its change of SAMPLE-19 is undone.
AFTER = (
    _checker("transition_ticket", ticket="SAMPLE-23", state="Done", is_refused=True),
    _checker("get_ticket", ticket="SAMPLE-23"),
    _writer(
        "add_comment",
        ticket="SAMPLE-23",
        body="@sample-checker was refused here. Its page says why, and the audit log has the call.",
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
        """Call the tool; raises its DomainError unless the step is one to be refused."""
        actor = self.actor_of(step.who)
        args = self._filled(step.args)
        tool = self.catalog.tools[step.tool]
        # The events of a call share a request id, so pages can undo it as one.
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
                refused(actor, error, step.tool)
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
