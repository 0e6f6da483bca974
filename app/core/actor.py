"""Who is acting, and which kind of actor an operation admits."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Concatenate, Generic, ParamSpec, TypeVar

from app.core.errors import Forbidden, ReadOnlyBot, Unauthenticated

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ActorKind(StrEnum):
    """The kinds of actor; ``anonymous`` never appears in an event."""

    HUMAN = "human"
    BOT = "bot"
    SYSTEM = "system"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Actor:
    """The one who acts in a request, as resolved from its credentials."""

    kind: ActorKind
    user_id: str | None = None
    username: str = ""
    # As others see it, of whoever came with a session or a token.
    display_name: str = ""
    # Bots only: whether it may write, the projects it may see (empty: all), its credential.
    may_write: bool = True
    allowlist: frozenset[str] = frozenset()
    can_edit_global_wiki: bool = True
    token_id: str | None = None
    # Bots only: whether a person has paused all bots, so that none may write.
    is_paused: bool = False
    # Humans only: the session that the cookie named.
    session_id: str | None = None

    @property
    def is_human(self) -> bool:
        """Whether a human acts."""
        return self.kind is ActorKind.HUMAN

    @property
    def is_bot(self) -> bool:
        """Whether a bot acts."""
        return self.kind is ActorKind.BOT

    @property
    def id(self) -> str:
        """The user id; only for actors that are users."""
        if self.user_id is None:
            raise Unauthenticated
        return self.user_id

    def sees_project(self, project_id: str) -> bool:
        """Whether the allowlist admits this project (an empty one admits all)."""
        return not self.allowlist or project_id in self.allowlist


ANONYMOUS = Actor(kind=ActorKind.ANONYMOUS, may_write=False)
SYSTEM = Actor(kind=ActorKind.SYSTEM)


class Access(StrEnum):
    """Who may call an operation (docs/api-guide.md names them)."""

    PUBLIC = "anon"
    READ = "H,B/R"
    WRITE = "H,B/W"
    HUMAN = "H"


def authorize(actor: Actor, access: Access, reason: str = "humans_only") -> None:
    """Refuse an actor of the wrong kind: humans-only first, then read-only bots.

    Raises Unauthenticated, Forbidden or ReadOnlyBot.
    """
    if access is Access.PUBLIC:
        return
    if actor.kind is ActorKind.ANONYMOUS:
        raise Unauthenticated
    if access is Access.HUMAN and actor.is_bot:
        raise Forbidden(reason)
    if access is Access.WRITE and actor.is_bot and (actor.is_paused or not actor.may_write):
        raise ReadOnlyBot(is_paused=actor.is_paused)


class Operation(Generic[Parameters, Result]):
    """A verb together with who may call it; edges read ``access``, the call enforces it."""

    def __init__(
        self,
        function: Callable[Concatenate[Actor, Parameters], Result],
        access: Access,
        reason: str,
    ) -> None:
        self.function = function
        self.access = access
        self.reason = reason
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__

    def admit(self, actor: Actor) -> None:
        """Raise unless this kind of actor may call the operation."""
        authorize(actor, self.access, self.reason)

    def __call__(
        self, actor: Actor, /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Run the verb for an actor who may call it."""
        self.admit(actor)
        return self.function(actor, *args, **kwargs)


def operation(
    access: Access, *, reason: str = "humans_only"
) -> Callable[[Callable[Concatenate[Actor, Parameters], Result]], Operation[Parameters, Result]]:
    """Declare who may call a verb; ``reason`` is what a bot reads on a humans-only one."""

    def decorate(
        function: Callable[Concatenate[Actor, Parameters], Result],
    ) -> Operation[Parameters, Result]:
        return Operation(function, access, reason)

    return decorate
