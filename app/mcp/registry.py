"""One ``Tool`` record per tool, and one ``ResourceKind`` per kind of resource.

The same record guards, parses, documents and calls, so these cannot drift apart.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.audit.service import Recorded
from app.core.actor import Access, Actor, Operation
from app.core.clock import iso
from app.core.errors import DomainError, NotFound
from app.core.lanes import Lane
from app.database.group_commit import GroupCommit
from app.database.pagination import Cursor
from app.database.session import reading
from app.mcp import tool_log
from app.mcp.parameters import Parameter, choice, input_schema

# Accepted by every tool; published by the tools that list it among their parameters.
LEAN, FULL = "lean", "full"
DETAIL = choice("detail", (LEAN, FULL), "full: all fields and ids.")


# Writes that go with the row or event that logs a call: reads write nothing themselves.
LogWrites = list[Callable[[], object]]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as a tool sees it: the actor and the parsed arguments."""

    actor: Actor
    arguments: Mapping[str, Any]
    log_writes: LogWrites = field(default_factory=list)
    # Whether the answer is shown with all fields.
    is_full: bool = False

    def __getitem__(self, name: str) -> Any:
        return self.arguments.get(name)

    @property
    def window(self) -> dict[str, Any]:
        """The ``limit`` and ``cursor`` of a list."""
        return {"limit": self["limit"], "cursor": self["cursor"]}


View = Callable[[ToolCall], dict[str, Any]]
# Shortens an answer: takes the call, the answer, and a function that makes its lean form.
Shortener = Callable[[ToolCall, dict[str, Any], Callable[[], dict[str, Any]]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Hints:
    """What clients use to decide whether to ask their user first; all four are always sent."""

    read_only: bool
    destructive: bool
    idempotent: bool

    @property
    def annotations(self) -> dict[str, bool]:
        """The hints under the protocol's names; no tool reaches beyond this workspace."""
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }


READS = Hints(read_only=True, destructive=False, idempotent=True)
ADDS = Hints(read_only=False, destructive=False, idempotent=False)
ADDS_ONCE = Hints(read_only=False, destructive=False, idempotent=True)
REPLACES = Hints(read_only=False, destructive=True, idempotent=True)


@dataclass(frozen=True, slots=True)
class Tool:
    """Everything about one tool."""

    name: str
    title: str
    calls: Operation[Any, Any]
    view: View
    parameters: tuple[Parameter, ...] = ()
    hints: Hints = READS
    # Arguments that an agent may expect here, and the tool that accepts them.
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    # The first word of the event types that ``undo`` accepts: the answer names those it caused.
    events_of: str = ""
    # What its lean answer leaves out beyond the common rules; writes have their own default.
    shorten: Shortener | None = None
    # More content for a write's answer, read after the commit: takes the actor and the answer.
    after_commit: Callable[[Actor, Mapping[str, Any]], dict[str, Any]] | None = None

    @property
    def writes(self) -> bool:
        return self.calls.access is not Access.READ

    @property
    def creates(self) -> bool:
        return self.hints is ADDS

    @property
    def listing(self) -> dict[str, Any]:
        """The tool as ``tools/list`` shows it; its description is the view's docstring."""
        return {
            "name": self.name,
            "title": self.title,
            "description": " ".join((self.view.__doc__ or "").split()),
            "inputSchema": input_schema(self.parameters),
            "annotations": self.hints.annotations,
        }


class Toolbox:
    """The tools of one group, collected at import."""

    def __init__(self) -> None:
        self.tools: list[Tool] = []

    def tool(
        self,
        name: str,
        title: str,
        *,
        calls: Operation[Any, Any],
        parameters: tuple[Parameter, ...] = (),
        **options: Any,
    ) -> Callable[[View], View]:
        """Register a view; ``options`` are the other fields of Tool."""

        def register(view: View) -> View:
            is_published = DETAIL in parameters
            taken = parameters if is_published else (*parameters, replace(DETAIL, hidden=True))
            self.tools.append(Tool(name, title, calls, view, parameters=taken, **options))
            return view

        return register


# The type of a resource, unless it sets another.
MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True)
class Resource:
    """A row of ``resources/list``; ``updated_at`` is in milliseconds."""

    uri: str
    name: str
    title: str
    updated_at: int
    id: str

    @property
    def listing(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "mimeType": MARKDOWN,
            "annotations": {"lastModified": iso(self.updated_at)},
        }


@dataclass(frozen=True, slots=True)
class ResourceContent:
    """The content of a resource: a text, or bytes in base64."""

    media_type: str
    text: str = ""
    blob: str | None = None

    @property
    def json(self) -> dict[str, str]:
        content = {"text": self.text} if self.blob is None else {"blob": self.blob}
        return {"mimeType": self.media_type, **content}


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """One scheme of resources: how they are listed, and read as Markdown or in their own type."""

    prefix: str
    template: dict[str, str]
    # The most recently updated resources, at most as many as the second argument.
    newest: Callable[[Actor, int], list[Resource]]
    # The resources that are listed before all others.
    first: Callable[[Actor], list[Resource]]
    # Takes the address without the prefix; raises NotFound, Gone or InvalidField.
    read: Callable[[Actor, str, LogWrites], str | ResourceContent]
    # The lane in which it is read.
    lane: Lane = Lane.LOOP


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt; ``arguments`` are names, descriptions, and whether they are required."""

    name: str
    title: str
    description: str
    arguments: tuple[tuple[str, str, bool], ...]
    # The text for an actor, in a unit of work; raises NotFound for what the actor cannot see.
    render: Callable[[Actor, dict[str, str]], str]

    @property
    def listing(self) -> dict[str, Any]:
        """The prompt as ``prompts/list`` shows it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [
                {"name": name, "description": description, "required": is_required}
                for name, description, is_required in self.arguments
            ],
        }


# Adds to the answer of a write, given the events that it recorded.
AnswerExtender = Callable[[ToolCall, dict[str, Any], Sequence[Recorded]], dict[str, Any]]
# Makes the answer of a call lean.
Presenter = Callable[[Tool, ToolCall, dict[str, Any]], dict[str, Any]]


# The id of the ticket that a call was about, by its actor, arguments and full answer.
TicketOf = Callable[[Actor, Mapping[str, Any], Mapping[str, Any]], str | None]


class Catalog:
    """All tools, prompts and kinds of resources; the listing of tools is built once."""

    def __init__(
        self,
        toolboxes: Iterable[Toolbox],
        kinds: Iterable[ResourceKind],
        instructions: str,
        lean: Presenter,
        extend_answer: AnswerExtender,
        prompts: Iterable[Prompt] = (),
        ticket_of: TicketOf = lambda _actor, _arguments, _answer: None,
    ) -> None:
        self._ticket_of = ticket_of
        self.prompts = {prompt.name: prompt for prompt in prompts}
        self.tools = {tool.name: tool for box in toolboxes for tool in box.tools}
        self.kinds = tuple(kinds)
        self.instructions = instructions
        self.lean = lean
        self.extend_answer = extend_answer
        self.tools_listing = [tool.listing for tool in self.tools.values()]

    def after_commit(
        self, tool: Tool, actor: Actor, content: Mapping[str, Any], *, is_full: bool
    ) -> dict[str, Any]:
        """What ``tool.after_commit`` adds to an answer, in a unit of work of its own."""
        # The write is committed, even if nothing can be read.
        with suppress(DomainError, SQLAlchemyError), reading():
            more = tool.after_commit(actor, content) if tool.after_commit is not None else {}
            return more if is_full else self.lean(tool, ToolCall(actor, {}), more)
        return {}

    def ticket_of(
        self, actor: Actor, arguments: Mapping[str, Any], answer: Mapping[str, Any] | None
    ) -> str | None:
        """See ``TicketOf``; None without an answer. Opens a unit of work of its own."""
        if answer is None:
            return None
        # The call is over, so no failure here may fail it.
        with suppress(DomainError, SQLAlchemyError), reading():
            return self._ticket_of(actor, arguments, answer)
        return None

    def lane(self, uri: str) -> Lane:
        """The lane in which this resource is read."""
        lanes = (kind.lane for kind in self.kinds if uri.startswith(kind.prefix))
        return max(lanes, default=Lane.LOOP)

    def read(self, actor: Actor, uri: str, log_writes: LogWrites) -> ResourceContent:
        """A resource, in a unit of work; raises NotFound, Gone or InvalidField."""
        for kind in self.kinds:
            if uri.startswith(kind.prefix):
                found = kind.read(actor, uri.removeprefix(kind.prefix), log_writes)
                return ResourceContent(MARKDOWN, found) if isinstance(found, str) else found
        raise NotFound("resource", uri)

    def resources(self, actor: Actor, limit: int, after: Cursor | None) -> list[Resource]:
        """The resources that an actor can see, in a unit of work: the latest change first.

        Returns ``limit`` in total, including those that are listed before all others. ``after`` is
        the last of the previous page: unchanged resources are neither skipped nor repeated.
        """
        first = [one for kind in self.kinds for one in kind.first(actor)]
        uris = {one.uri for one in first}
        newest = [one for kind in self.kinds for one in kind.newest(actor, limit)]
        newest.sort(key=lambda one: (one.updated_at, one.id), reverse=True)
        rest = [one for one in newest if one.uri not in uris][: limit - len(first)]
        if after is None:
            return [*first, *rest]
        is_first = after.id in {one.id for one in first}
        return [one for one in rest if is_first or (one.updated_at, one.id) < (after.at, after.id)]


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """How the endpoint resolves its callers, and what it offers them."""

    # In a unit of work: the bot of this token; raises InvalidCredentials.
    resolve: Callable[[str], Actor]
    catalog: Catalog
    # ``name``, ``title`` and ``version``, as the handshake answers them.
    server: dict[str, str]
    call_log: GroupCommit[tool_log.Entry] = field(default_factory=tool_log.writer)
