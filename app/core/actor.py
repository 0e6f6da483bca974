"""The actor and the peer of a request, and which kinds of actor may call a verb."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Concatenate, Generic, ParamSpec, TypeVar

from app.core.errors import Forbidden, ReadOnlyBot, Unauthenticated

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ActorKind(StrEnum):
    """The kinds of actor. Events never have ``anonymous``."""

    HUMAN = "human"
    BOT = "bot"
    SYSTEM = "system"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts in a request, as resolved from its credentials."""

    kind: ActorKind
    user_id: str | None = None
    username: str = ""
    # Empty unless a session or token identified the actor.
    display_name: str = ""
    # Bots only: the mode, the allowlist (empty: all projects), the credential.
    may_write: bool = True
    allowlist: frozenset[str] = frozenset()
    can_edit_global_wiki: bool = True
    token_id: str | None = None
    # Bots only: whether its changes get receipts. An integration reacts to deliveries instead.
    has_receipts: bool = True
    # Whether all bots are paused, so that none may write. Pages show this to people.
    all_bots_paused: bool = False
    # Bots only: whether this one is paused.
    this_bot_paused: bool = False
    # Humans only: the id and username of a bot that is paused.
    paused_bot: tuple[str, str] | None = None
    # Humans only: the session of the cookie.
    session_id: str | None = None

    @property
    def is_human(self) -> bool:
        return self.kind is ActorKind.HUMAN

    @property
    def is_bot(self) -> bool:
        return self.kind is ActorKind.BOT

    @property
    def id(self) -> str:
        """The user id; raises Unauthenticated if the actor is not a user."""
        if self.user_id is None:
            raise Unauthenticated
        return self.user_id

    def sees_project(self, project_id: str) -> bool:
        return not self.allowlist or project_id in self.allowlist


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a request: its address behind the trusted proxies, and its user agent.

    A local peer is on this machine, with no proxy in between.
    """

    address: str
    user_agent: str
    is_local: bool = False


ANONYMOUS = Actor(kind=ActorKind.ANONYMOUS, may_write=False)
SYSTEM = Actor(kind=ActorKind.SYSTEM)


class Access(StrEnum):
    """Who may call a verb: H humans, B/R bots, B/W bots that may write (docs/api-guide.md)."""

    PUBLIC = "anon"
    READ = "H,B/R"
    WRITE = "H,B/W"
    HUMAN = "H"


def authorize(actor: Actor, access: Access, reason: str = "humans_only") -> None:
    """Raise Unauthenticated, Forbidden or ReadOnlyBot if the actor has no access.

    A bot writes if its mode is write and neither it nor all bots are paused.
    ``app/projects/loaders.py`` checks its allowlist.
    """
    if access is Access.PUBLIC:
        return
    if actor.kind is ActorKind.ANONYMOUS:
        raise Unauthenticated
    if access is Access.HUMAN and actor.is_bot:
        raise Forbidden(reason)
    if access is not Access.WRITE or not actor.is_bot:
        return
    if actor.all_bots_paused or actor.this_bot_paused or not actor.may_write:
        raise ReadOnlyBot(
            all_bots_paused=actor.all_bots_paused, this_bot_paused=actor.this_bot_paused
        )


class Operation(Generic[Parameters, Result]):
    """A verb and who may call it: edges read ``access``, and a call enforces it."""

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
        authorize(actor, self.access, self.reason)

    def __call__(
        self, actor: Actor, /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        self.admit(actor)
        return self.function(actor, *args, **kwargs)


def operation(
    access: Access, *, reason: str = "humans_only"
) -> Callable[[Callable[Concatenate[Actor, Parameters], Result]], Operation[Parameters, Result]]:
    """Declare who may call a verb. ``reason`` is the Forbidden reason that a bot gets."""

    def decorate(
        function: Callable[Concatenate[Actor, Parameters], Result],
    ) -> Operation[Parameters, Result]:
        return Operation(function, access, reason)

    return decorate
