"""The sentence of each event, without its subject: who did it stands in front."""

from collections.abc import Mapping
from typing import Any

# Braces enclose keys of the payload; ``{target}`` is the display id of the event's ticket.
SENTENCES: dict[str, str] = {
    "auth.login.success": "logged in",
    "auth.password.failure": "gave a wrong current password as {username}",
    "auth.login.failure": "failed to log in as {username} ({reason})",
    "auth.login.rate_limited": "was kept from logging in as {username}: too many attempts",
    "auth.logout": "logged out",
    "auth.session.expired": "had a session end ({reason})",
    "auth.bot.success": "was let in with the token app_{token_prefix}…",
    "auth.bot.failure": "was turned away: a token that is not valid",
    "auth.bot.write_attempt_in_read_mode": "was refused {operation}: it may only read",
    "auth.bot.write_attempt_outside_allowlist": "was refused {operation}: outside its projects",
    "user.created": "created the user {username}",
    "user.updated": "changed a user",
    "bot.created": "created the bot {username} ({mode})",
    "bot.updated": "changed a bot",
    "bot.enabled": "switched the bot {username} on",
    "bot.disabled": "switched the bot {username} off",
    "bot.token.created": "issued the token app_{token_prefix}…",
    "bot.token.rotated": "rotated a token to app_{token_prefix}…",
    "bot.token.revoked": "revoked the token app_{token_prefix}…",
    "bot.tool_invoked": "called {tool_name}: {result_status}, {duration_ms} ms",
    "bot.resource_read": "read {uri}: {result_status}",
    "workspace.bots_paused": "paused all bots",
    "workspace.bots_resumed": "let bots write again",
    "project.created": "created the project {key}, {name}",
    "project.updated": "changed a project",
    "project.deleted": "deleted the project {key}, {name}",
    "project.restored": "restored the project {key}, {name}",
    "workflow_state.created": "added the state {name}",
    "workflow_state.updated": "changed a state",
    "workflow_state.reordered": "put states into another order",
    "workflow_state.deleted": "deleted the state {name}",
    "label.created": "added the label {name}",
    "label.updated": "changed a label",
    "label.deleted": "deleted the label {name}",
    "wiki.render_failed": "met a page that could not be laid out ({error})",
    "webhook.created": "subscribed {url}",
    "webhook.updated": "changed a webhook",
    "webhook.secret_rotated": "gave a webhook a new secret",
    "webhook.deleted": "ended the webhook to {url}",
    "webhook.delivery_succeeded": "delivered {event_type} (attempt {attempt})",
    "webhook.delivery_failed": "could not deliver {event_type} (attempt {attempt}): {error}",
    "webhook.delivery_retried": "sent {event_type} once more",
    "system.sweeper_ran": "swept {sweeper}: {deleted} deleted",
    "audit.orphaned": "lost an event of type {event_type} ({reason})",
    "ticket.created": "created {display_id}, {title}",
    "ticket.updated": "changed {target}",
    "ticket.state_changed": "moved {target} from {from_state_name} to {to_state_name}",
    "ticket.assigned": "assigned {target} to {assignee_username}",
    "ticket.deleted": "deleted {display_id}, {title}",
    "ticket.restored": "restored {display_id}, {title}",
    "ticket.watcher_added": "made {username} a watcher of {target}",
    "ticket.watcher_removed": "stopped {username} watching {target}",
    "ticket.relation_added": "related {source_display_id} to {target_display_id} ({type})",
    "ticket.relation_removed": "took {source_display_id} and {target_display_id} apart ({type})",
    "comment.created": "commented on {target}",
    "comment.updated": "edited a comment on {target}",
    "comment.deleted": "deleted a comment on {target}",
    "comment.restored": "restored a comment on {target}",
    "comment.reacted": "{action} the reaction {reaction} on a comment on {target}",
    "wiki.created": "wrote the page {title}",
    "wiki.updated": "saved the page {slug} (revision {revision_number})",
    "wiki.deleted": "deleted the page {title}",
    "wiki.restored": "restored the page {title}",
    "sticky_note.created": "put up a note",
    "sticky_note.updated": "changed a note",
    "sticky_note.deleted": "took a note down",
    "sticky_note.converted": "turned a note into {display_id}",
}

# An en dash.
NOTHING_SAID = "\u2013"


class _Values(dict[str, Any]):
    """The payload, with a dash for a missing key."""

    def __missing__(self, key: str) -> str:
        return NOTHING_SAID


def sentence(event_type: str, payload: Mapping[str, Any], target: str | None) -> str:
    """The sentence of an event, to follow the name of its actor."""
    values = _Values(
        {key: NOTHING_SAID if value is None else value for key, value in payload.items()}
    )
    values["target"] = target or "a ticket"
    if payload.get("tool_name") == "":
        values["tool_name"] = "(no name)"
    return SENTENCES[event_type].format_map(values)
