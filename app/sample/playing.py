"""Playing a history: each step calls a tool, as an agent would, in the transaction at hand.

What a bot calls is logged and audited as by the endpoint of bots (``mcp/calls.py``), each call as a
request of its own; a person's steps use the same tools and are not logged.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.audit.service import refused
from app.core import ids
from app.core.actor import Actor
from app.core.context import on_behalf_of
from app.core.errors import DomainError
from app.mcp import arguments, tool_log
from app.mcp.registry import Catalog, Tool, ToolCall
from app.mcp.results import refusal
from app.sample.sample_history import Step


@dataclass(frozen=True, slots=True)
class Stage:
    """Who plays, with which tools; ``named`` puts the real names into a text."""

    catalog: Catalog
    # As the one of this name would act now.
    actor_of: Callable[[str], Actor]
    named: Callable[[str], str]

    def play(self, step: Step) -> None:
        """Make the call; raises what the tool raises, unless the step is there to be refused."""
        actor = self.actor_of(step.who)
        given = self._filled(step.given)
        tool = self.catalog.tools[step.tool]
        # The events of a call share an id; pages undo a request as one.
        with on_behalf_of(ids.new_id()):
            started = time.perf_counter()
            status, message = tool_log.OK, None
            try:
                _call(tool, actor, given)
            except DomainError as error:
                if not step.is_refused:
                    raise
                known = {one.name: one for one in tool.parameters}
                status, message = error.code, refusal(error, known)["error"]["message"]
                refused(actor, error, step.tool)
            if actor.is_bot:
                took = time.perf_counter() - started
                tool_log.write(
                    tool_log.entry(
                        actor, step.tool, given, status=status, message=message, took=took
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


def _call(tool: Tool, actor: Actor, given: dict[str, Any]) -> None:
    tool.calls.admit(actor)
    tool.view(ToolCall(actor, arguments.load(tool.parameters, given, elsewhere=tool.elsewhere)))
