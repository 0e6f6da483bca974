"""REST endpoints of a person's own notice settings; humans only."""

from app.core.errors import InvalidField
from app.notices import service
from app.notices.schemas import NoticeChoiceOut, NoticeChoicePatch
from app.rest.routing import Answer, Api, Call

OWN = "/users/me/notices"

api = Api("users")


def _shown(call: Call) -> Answer:
    frequency, zone = service.choice_of(call.actor)
    return Answer({"frequency": frequency, "zone": zone})


@api.route("GET", OWN, "users.notices.get", calls=service.choice_of, returns=NoticeChoiceOut)
def get_choice(call: Call) -> Answer:
    """Show how often you get email about unread updates in your inbox."""
    return _shown(call)


@api.route(
    "PATCH",
    OWN,
    "users.notices.update",
    calls=service.choose,
    body=NoticeChoicePatch,
    returns=NoticeChoiceOut,
    errors=(InvalidField,),
)
def choose(call: Call) -> Answer:
    """Choose how often you get email about unread updates in your inbox.

    It is sent if the server sends email and you confirmed your address. Earlier updates are not
    sent.
    """
    service.choose(call.actor, **call.body)
    return _shown(call)
