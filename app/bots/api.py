"""REST endpoints of bots and their tokens; humans only."""

from app.accounts.builders import bot_json
from app.accounts.schemas import BotOut
from app.bots import service
from app.bots.schemas import BotCreate, BotPatch, BotWithTokenOut
from app.core.errors import Conflict, InvalidField, NotFound
from app.http.current import current_settings
from app.rest.fields import EmptyBody, PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

api = Api("bots")

BOT = "/bots/<bot_id>"


def _with_token(issued: service.IssuedBot) -> dict[str, object]:
    return {"bot": bot_json(issued.user, issued.token), "plaintext_token": issued.plaintext}


@api.route(
    "GET",
    "/bots",
    "bots.list",
    calls=service.list_bots,
    query=PageQuery,
    returns=BotOut,
    paginated=True,
    leads_to=("bots.get",),
)
def list_bots(call: Call) -> Answer:
    """List all bots with the metadata of their active tokens, newest first."""
    return Answer(service.list_bots(call.actor, **call.query).collection)


@api.route(
    "POST",
    "/bots",
    "bots.create",
    calls=service.create_bot,
    body=BotCreate,
    returns=BotWithTokenOut,
    status=201,
    idempotent=True,
    leads_to=("bots.get", "bots.update", "bots.tokens.rotate"),
    key="bot/id",
    errors=(InvalidField, Conflict),
)
def create_bot(call: Call) -> Answer:
    """Create a bot and its first token; the token is shown only in this response."""
    issued = service.create_bot(call.actor, **call.body, settings=current_settings())
    return created(_with_token(issued), f"/bots/{issued.user.id}")


@api.route("GET", BOT, "bots.get", calls=service.get_bot, returns=BotOut, errors=(NotFound,))
def get_bot(call: Call) -> Answer:
    """Fetch one bot."""
    bot = service.get_bot(call.actor, call.path["bot_id"])
    return Answer(bot_json(bot.user, bot.token))


@api.route(
    "PATCH",
    BOT,
    "bots.update",
    calls=service.update_bot,
    body=BotPatch,
    returns=BotOut,
    errors=(InvalidField, NotFound),
)
def update_bot(call: Call) -> Answer:
    """Change a bot; a new mode, allowlist or status takes effect at once.

    An empty `project_ids` means every project.
    """
    bot = service.update_bot(call.actor, call.path["bot_id"], **call.body)
    return Answer(bot_json(bot.user, bot.token))


@api.route("DELETE", BOT, "bots.delete", calls=service.delete_bot, status=204, errors=(NotFound,))
def delete_bot(call: Call) -> Answer:
    """Deactivate a bot; its history stays, its username stays reserved."""
    service.delete_bot(call.actor, call.path["bot_id"])
    return NO_CONTENT


@api.route(
    "POST",
    f"{BOT}/tokens/rotate",
    "bots.tokens.rotate",
    calls=service.rotate_token,
    body=EmptyBody,
    returns=BotWithTokenOut,
    errors=(NotFound,),
)
def rotate_token(call: Call) -> Answer:
    """Issue a new token, shown only in this response; the old one stops working at once."""
    return Answer(_with_token(service.rotate_token(call.actor, call.path["bot_id"])))


@api.route(
    "POST",
    f"{BOT}/tokens/revoke",
    "bots.tokens.revoke",
    calls=service.revoke_token,
    body=EmptyBody,
    status=204,
    errors=(NotFound, Conflict),
)
def revoke_token(call: Call) -> Answer:
    """Revoke the active token and issue none; refused where there is none."""
    service.revoke_token(call.actor, call.path["bot_id"])
    return NO_CONTENT
