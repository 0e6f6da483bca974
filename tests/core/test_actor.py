"""Which actor may call which operation."""

import pytest

from app.core.actor import ANONYMOUS, Access, Actor, ActorKind, operation
from app.core.errors import Forbidden, ReadOnlyBot, Unauthenticated

HUMAN = Actor(ActorKind.HUMAN, user_id="h")
READER = Actor(ActorKind.BOT, user_id="r", may_write=False)
WRITER = Actor(ActorKind.BOT, user_id="w")


def verb_of(access, **options):
    @operation(access, **options)
    def verb(actor, /, value):
        return value

    return verb


@pytest.mark.parametrize(
    ("access", "admitted"),
    [
        (Access.PUBLIC, {"anonymous", "human", "reader", "writer"}),
        (Access.READ, {"human", "reader", "writer"}),
        (Access.WRITE, {"human", "writer"}),
        (Access.HUMAN, {"human"}),
    ],
)
def test_each_access_admits_its_kinds(access, admitted):
    actors = {"anonymous": ANONYMOUS, "human": HUMAN, "reader": READER, "writer": WRITER}
    verb = verb_of(access)
    for name, actor in actors.items():
        if name in admitted:
            assert verb(actor, 1) == 1
        else:
            with pytest.raises((Unauthenticated, Forbidden, ReadOnlyBot)):
                verb(actor, 1)


def test_humans_only_comes_before_read_only():
    with pytest.raises(Forbidden) as caught:
        verb_of(Access.HUMAN)(READER, 1)
    assert caught.value.details == {"reason": "humans_only"}
    with pytest.raises(Forbidden) as caught:
        verb_of(Access.HUMAN, reason="bots_have_no_personal_notes").admit(WRITER)
    assert caught.value.details == {"reason": "bots_have_no_personal_notes"}


def test_an_empty_allowlist_admits_every_project():
    assert WRITER.sees_project("any")
    fenced = Actor(ActorKind.BOT, user_id="f", allowlist=frozenset({"one"}))
    assert fenced.sees_project("one")
    assert not fenced.sees_project("two")


def test_nobody_has_no_id():
    assert HUMAN.id == "h"
    with pytest.raises(Unauthenticated):
        _ = ANONYMOUS.id
