"""The argument ``undo`` of tools: taking back what the same bot did."""

from app.core.errors import Conflict
from app.mcp.parameters import raise_unknown, text
from app.mcp.registry import ToolCall
from app.tools import messages
from app.undo import service
from app.undo.service import Ending, Subject
from app.undo.wording import values

UNDO = text("undo", "One of your event_ids, to undo it.")
# Where else the arguments beside ``undo`` may stand.
NAMING = frozenset({"ticket", "page", "project", "comment", "undo"})


def undo(call: ToolCall, subject: Subject, subject_id: str) -> bool:
    """Undo the event that the call names; False if nothing of it was left.

    Raises RequestInvalid for further arguments, Conflict ``changed_since`` with the values, and the
    errors of ``undo_own_event``.
    """
    surplus = sorted(call.arguments.keys() - NAMING)
    raise_unknown(dict.fromkeys(surplus, messages.UNDO_IN_A_CALL_OF_ITS_OWN))
    outcome = service.undo_own_event(
        call.actor, call["undo"], subject=subject, subject_id=subject_id
    )
    if outcome.ending is Ending.CHANGED_SINCE:
        fields = values(outcome.differences)
        names = ", ".join(field["field"] for field in fields)
        raise Conflict(
            "changed_since",
            messages.changed_since(names),
            fields=fields,
        )
    return outcome.is_done
