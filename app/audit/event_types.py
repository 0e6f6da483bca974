"""Every event type, with its category and payload keys. docs/webhooks.md lists the same."""

from dataclasses import dataclass
from enum import StrEnum

from app.audit import messages


class Category(StrEnum):
    """Whether activity feeds also show an event, or only the audit log."""

    ACTIVITY = "activity"
    AUDIT_ONLY = "audit_only"


@dataclass(frozen=True, slots=True)
class EventType:
    name: str
    category: Category
    payload: tuple[str, ...]


# The payload key with the id of the event that an event undoes.
UNDO_OF = "undo_of"

# The payload key of an import's change that only points texts at stored files: true or absent.
IMPORTED = "imported"

# The most events that one transaction undoes; bulk changes of tickets stay within it.
UNDONE_AT_ONCE = 500

# The payload keys of events about relations.
RELATION = "relation_id type source_ticket_id target_ticket_id source_display_id target_display_id"

# The payload keys of events about links.
LINK = "link_id url title kind"


def _events(
    category: Category, *lines: tuple[str, str], is_reversible: bool = False
) -> dict[str, EventType]:
    undo_key = (UNDO_OF,) if is_reversible else ()
    return {name: EventType(name, category, (*keys.split(), *undo_key)) for name, keys in lines}


EVENTS: dict[str, EventType] = (
    _events(
        Category.AUDIT_ONLY,
        ("auth.login.success", "username way"),
        ("auth.login.failure", "username reason"),
        ("auth.login.rate_limited", "username bucket retry_after_seconds"),
        ("auth.logout", "username"),
        ("auth.session.expired", "reason"),
        ("auth.password.failure", "username"),
        ("auth.totp.asked", "username"),
        ("auth.totp.failure", "username"),
        ("auth.oidc.success", "username"),
        ("auth.oidc.failure", "reason"),
        ("auth.oidc.logout", "sessions"),
        ("auth.bot.success", "token_prefix"),
        ("auth.bot.failure", "operation token_prefix count"),
        ("auth.bot.write_attempt_in_read_mode", "operation"),
        ("auth.bot.write_attempt_outside_allowlist", "operation project_id"),
        ("user.created", "username display_name"),
        (
            "user.updated",
            "changes password_changed password_link_issued email_changed email_confirmed",
        ),
        ("user.identity_linked", "username"),
        ("user.identity_unlinked", "username"),
        ("user.totp_enabled", "username"),
        ("user.totp_disabled", "username"),
        ("user.recovery_codes_made", "username"),
        ("user.recovery_code_used", "username left"),
        ("user.passkey_added", "username passkey_id name"),
        ("user.passkey_renamed", "username passkey_id changes"),
        ("user.passkey_removed", "username passkey_id name"),
        ("bot.created", "username display_name mode project_ids can_edit_global_wiki"),
        ("bot.updated", "changes"),
        ("bot.enabled", "username"),
        ("bot.disabled", "username"),
        ("bot.paused", "username project_id limit"),
        ("bot.resumed", "username"),
        ("bot.token.created", "token_id token_prefix"),
        ("bot.token.rotated", "old_token_id new_token_id token_prefix"),
        ("bot.token.revoked", "token_id token_prefix"),
        ("bot.tool_invoked", "tool_name result_status duration_ms"),
        ("bot.resource_read", "uri result_status"),
        ("feed.created", "kind project_id"),
        ("feed.revoked", "kind project_id"),
        ("workspace.bots_paused", ""),
        ("workspace.bots_resumed", ""),
        ("project.created", "key name description owner_user_id"),
        ("project.deleted", "key name"),
        ("project.restored", "key name"),
        # ``user_id`` is the owner of the reaction, if a rewind changes another user's reaction.
        ("comment.reacted", "comment_id reaction action user_id undo_of"),
        ("ticket.link_changed", "link_id url changes"),
        ("integration.created", "name forge bot_user_id project_ids on_merge"),
        ("integration.updated", "changes"),
        ("integration.secret_rotated", ""),
        ("integration.deleted", "name"),
    )
    | _events(
        Category.AUDIT_ONLY,
        ("project.updated", "changes"),
        ("workflow_state.created", "state_id name category position wip_limit"),
        ("workflow_state.updated", "state_id changes"),
        ("workflow_state.reordered", "state_ids previous_state_ids"),
        ("workflow_state.deleted", "state_id name category position wip_limit"),
        ("label.created", "label_id name color"),
        ("label.updated", "label_id changes"),
        ("label.deleted", "label_id name color ticket_ids"),
        is_reversible=True,
    )
    | _events(
        Category.AUDIT_ONLY,
        ("wiki.render_failed", "revision_number error"),
        ("webhook.created", "url event_types is_active form project_ids"),
        ("webhook.updated", "changes"),
        ("webhook.secret_rotated", ""),
        ("webhook.deleted", "url"),
        ("webhook.delivery_succeeded", "delivery_id event_type attempt http_status"),
        ("webhook.delivery_failed", "delivery_id event_type attempt http_status will_retry error"),
        ("webhook.delivery_retried", "delivery_id event_type attempt retried_delivery_id"),
        ("system.sweeper_ran", "sweeper deleted duration_ms"),
        (
            "system.audit_checkpoint",
            "sequence made_at event_count first_event_id last_event_id root previous hash"
            " signature public_key",
        ),
        ("audit.orphaned", "event_type reason"),
    )
    | _events(
        Category.ACTIVITY,
        ("file.added", "file_id name media_type size sha256 comment_id"),
        ("file.deleted", "file_id name media_type size sha256 comment_id undo_of"),
    )
    | _events(
        Category.ACTIVITY,
        (
            "ticket.created",
            "display_id type title state_id priority assignee_user_id parent_ticket_id label_ids",
        ),
        ("ticket.updated", f"changes {IMPORTED}"),
        ("ticket.state_changed", "from_state_id from_state_name to_state_id to_state_name"),
        ("ticket.assigned", "from_user_id assignee_user_id assignee_username"),
        ("ticket.deleted", "display_id title"),
        ("ticket.restored", "display_id title state_id"),
        ("ticket.watcher_added", "user_id username"),
        ("ticket.watcher_removed", "user_id username"),
        ("ticket.relation_added", RELATION),
        ("ticket.relation_removed", RELATION),
        ("ticket.link_added", LINK),
        ("ticket.link_removed", f"{LINK} {IMPORTED}"),
        ("comment.created", "comment_id body"),
        ("comment.updated", f"comment_id body previous_body {IMPORTED}"),
        ("comment.deleted", "comment_id body edit_history author_user_id"),
        ("comment.restored", "comment_id"),
        ("wiki.created", "slug title project_id revision_id"),
        ("wiki.updated", "slug changes body_changed revision_id revision_number summary"),
        ("wiki.deleted", "slug title revision_number"),
        ("wiki.restored", "slug title revision_number"),
        # Events of personal notes are audit_only and have no content.
        ("sticky_note.created", "body color"),
        ("sticky_note.updated", "changes fields"),
        ("sticky_note.deleted", "body color"),
        ("sticky_note.converted", "sticky_note_id ticket_id display_id"),
        is_reversible=True,
    )
)

# Events that people can undo; the table in undo/service.py has the same types.
# Users take a reaction back by repeating it, so only a rewind undoes it. Deleted files are gone.
REVERSIBLE = frozenset(name for name, kind in EVENTS.items() if UNDO_OF in kind.payload) - {
    "comment.reacted",
    "file.deleted",
}
# Events that only their actor can undo, as only its author may edit a comment.
OWN_ONLY = frozenset({"comment.updated"})


def may_be_undone(event_type: str, by: str | None, person: str | None) -> bool:
    return event_type in REVERSIBLE and (event_type not in OWN_ONLY or by == person)


# The display name of each subject, the part of an event type before the first dot.
SUBJECTS = {
    "ticket": messages.TICKETS,
    "comment": messages.COMMENTS,
    "wiki": messages.WIKI_PAGES,
    "file": messages.FILES,
    "sticky_note": messages.PROJECT_NOTES,
    "project": messages.PROJECTS,
    "workflow_state": messages.WORKFLOW_STATES,
    "label": messages.LABELS,
    "bot": messages.BOTS,
    "user": messages.PEOPLE,
    "auth": messages.LOGINS_AND_TOKENS,
    "webhook": messages.WEBHOOKS,
    "integration": messages.INTEGRATIONS,
    "feed": messages.FEEDS,
    "workspace": messages.WORKSPACE,
    "system": messages.CLEANUP_JOBS,
    "audit": messages.AUDIT_FAILURES,
}
