"""Sentences and page texts of the audit log and the tool log."""

# The sentence of each event, after its actor; ``tickets`` has the sentences of tickets.
# Braces enclose keys of the payload; ``changed`` has the names of the fields in its ``changes``.
SENTENCES: dict[str, str] = {
    "auth.login.success": "logged in",
    "auth.password.failure": "entered the wrong current password for {username}",
    "auth.oidc.success": "logged in with single sign-on",
    "auth.oidc.failure": "failed to log in with single sign-on ({reason})",
    "auth.oidc.logout": "ended a person's sessions at the identity provider's request",
    "auth.totp.asked": "was asked for a code as {username}",
    "auth.totp.failure": "entered a wrong code for {username}",
    "auth.login.failure": "failed to log in as {username} ({reason})",
    "auth.login.rate_limited": "was locked out as {username}: too many attempts",
    "auth.logout": "logged out",
    "auth.session.expired": "was logged out: session ended ({reason})",
    "auth.bot.success": "authenticated with token app_{token_prefix}…",
    "auth.bot.failure": "was rejected: invalid token",
    "auth.bot.write_attempt_in_read_mode": "was denied {operation}: read-only access",
    "auth.bot.write_attempt_outside_allowlist": "was denied {operation}: project not allowed",
    "user.created": "added {username}",
    "user.updated": "updated a person",
    "user.identity_linked": "linked single sign-on to {username}",
    "user.identity_unlinked": "removed single sign-on from {username}",
    "user.totp_enabled": "turned on two-factor authentication of {username}",
    "user.totp_disabled": "turned off two-factor authentication of {username}",
    "user.recovery_codes_made": "generated recovery codes of {username}",
    "user.recovery_code_used": "used a recovery code of {username} ({left} left)",
    "user.passkey_added": "added the passkey {name} of {username}",
    "user.passkey_renamed": "renamed a passkey of {username}",
    "user.passkey_removed": "removed the passkey {name} of {username}",
    "bot.created": "created the bot {username} ({mode})",
    "bot.updated": "updated a bot: {changed}",
    "bot.enabled": "activated the bot {username}",
    "bot.disabled": "deactivated the bot {username}",
    "bot.paused": "paused the bot {username}",
    "bot.resumed": "resumed the bot {username}",
    "bot.token.created": "issued token app_{token_prefix}…",
    "bot.token.rotated": "rotated a token; the new one is app_{token_prefix}…",
    "bot.token.revoked": "revoked token app_{token_prefix}…",
    "bot.tool_invoked": "called {tool_name}: {result_status}, {duration_ms} ms",
    "bot.resource_read": "read {uri}: {result_status}",
    "feed.created": "created a feed ({kind})",
    "feed.revoked": "revoked a feed ({kind})",
    "workspace.bots_paused": "paused all bots",
    "workspace.bots_resumed": "resumed all bots",
    "project.created": "created the project {key}, {name}",
    "project.updated": "updated a project: {changed}",
    "project.deleted": "deleted the project {key}, {name}",
    "project.restored": "restored the project {key}, {name}",
    "workflow_state.created": "added the state {name}",
    "workflow_state.updated": "updated a state: {changed}",
    "workflow_state.reordered": "reordered the states",
    "workflow_state.deleted": "deleted the state {name}",
    "label.created": "added the label {name}",
    "label.updated": "updated a label: {changed}",
    "label.deleted": "deleted the label {name}",
    "file.added": "added the file {name}",
    "file.deleted": "deleted the file {name}",
    "wiki.render_failed": "failed to render a page ({error})",
    "webhook.created": "created a webhook to {url}",
    "webhook.updated": "updated a webhook: {changed}",
    "webhook.secret_rotated": "rotated a webhook secret",
    "webhook.deleted": "deleted the webhook to {url}",
    "webhook.delivery_succeeded": "delivered {event_type} (attempt {attempt})",
    "webhook.delivery_failed": "failed to deliver {event_type} (attempt {attempt}): {error}",
    "webhook.delivery_retried": "retried {event_type}",
    "integration.created": "created the integration {name} ({forge})",
    "integration.updated": "updated an integration: {changed}",
    "integration.secret_rotated": "rotated an integration secret",
    "integration.deleted": "deleted the integration {name}",
    "system.sweeper_ran": "cleaned up {sweeper}: {deleted} deleted",
    "system.audit_checkpoint": "signed checkpoint {sequence} (events: {event_count})",
    "audit.orphaned": "failed to record {event_type} ({reason})",
    "wiki.created": "wrote the page {title}",
    "wiki.updated": "edited the page {slug} (revision {revision_number})",
    "wiki.deleted": "deleted the page {title}",
    "wiki.restored": "restored the page {title}",
    "sticky_note.created": "added a note",
    "sticky_note.updated": "edited a note",
    "sticky_note.deleted": "deleted a note",
    "sticky_note.converted": "converted a note to {display_id}",
}

# The sentences of several events of one type; braces enclose their number.
MANY: dict[str, str] = {
    "auth.login.success": "logged in {count} times",
    "auth.password.failure": "entered a wrong password {count} times",
    "auth.oidc.success": "logged in with single sign-on {count} times",
    "auth.oidc.failure": "failed to log in with single sign-on {count} times",
    "auth.oidc.logout": "ended sessions at the identity provider's request {count} times",
    "auth.totp.asked": "was asked for a code {count} times",
    "auth.totp.failure": "entered a wrong code {count} times",
    "auth.login.failure": "failed to log in {count} times",
    "auth.login.rate_limited": "was locked out {count} times",
    "auth.logout": "logged out {count} times",
    "auth.session.expired": "had {count} sessions ended",
    "auth.bot.success": "authenticated {count} times",
    "auth.bot.failure": "was rejected {count} times",
    "auth.bot.write_attempt_in_read_mode": "was denied {count} writes",
    "auth.bot.write_attempt_outside_allowlist": "was denied {count} writes outside its projects",
    "user.created": "added {count} people",
    "user.updated": "updated {count} people",
    "user.identity_linked": "linked single sign-on {count} times",
    "user.identity_unlinked": "removed single sign-on {count} times",
    "user.totp_enabled": "turned on two-factor authentication {count} times",
    "user.totp_disabled": "turned off two-factor authentication {count} times",
    "user.recovery_codes_made": "generated recovery codes {count} times",
    "user.recovery_code_used": "used {count} recovery codes",
    "user.passkey_added": "added {count} passkeys",
    "user.passkey_renamed": "renamed {count} passkeys",
    "user.passkey_removed": "removed {count} passkeys",
    "bot.created": "created {count} bots",
    "bot.updated": "updated {count} bots",
    "bot.enabled": "activated {count} bots",
    "bot.disabled": "deactivated {count} bots",
    "bot.paused": "paused {count} bots",
    "bot.resumed": "resumed {count} bots",
    "bot.token.created": "issued {count} tokens",
    "bot.token.rotated": "rotated {count} tokens",
    "bot.token.revoked": "revoked {count} tokens",
    "bot.tool_invoked": "called {count} tools",
    "bot.resource_read": "read {count} resources",
    "feed.created": "created {count} feeds",
    "feed.revoked": "revoked {count} feeds",
    "workspace.bots_paused": "paused all bots {count} times",
    "workspace.bots_resumed": "resumed all bots {count} times",
    "project.created": "created {count} projects",
    "project.updated": "updated {count} projects",
    "project.deleted": "deleted {count} projects",
    "project.restored": "restored {count} projects",
    "workflow_state.created": "added {count} states",
    "workflow_state.updated": "updated {count} states",
    "workflow_state.reordered": "reordered the states {count} times",
    "workflow_state.deleted": "deleted {count} states",
    "label.created": "added {count} labels",
    "label.updated": "updated {count} labels",
    "label.deleted": "deleted {count} labels",
    "wiki.render_failed": "failed to render {count} pages",
    "webhook.created": "created {count} webhooks",
    "webhook.updated": "updated {count} webhooks",
    "webhook.secret_rotated": "rotated {count} webhook secrets",
    "webhook.deleted": "deleted {count} webhooks",
    "webhook.delivery_succeeded": "delivered {count} events",
    "webhook.delivery_failed": "failed to deliver {count} events",
    "webhook.delivery_retried": "retried {count} deliveries",
    "integration.created": "created {count} integrations",
    "integration.updated": "updated {count} integrations",
    "integration.secret_rotated": "rotated {count} integration secrets",
    "integration.deleted": "deleted {count} integrations",
    "system.sweeper_ran": "ran {count} cleanup jobs",
    "system.audit_checkpoint": "signed {count} checkpoints",
    "audit.orphaned": "failed to record {count} events",
    "wiki.created": "wrote {count} pages",
    "wiki.updated": "edited {count} pages",
    "wiki.deleted": "deleted {count} pages",
    "wiki.restored": "restored {count} pages",
    "sticky_note.created": "added {count} notes",
    "sticky_note.updated": "edited {count} notes",
    "sticky_note.deleted": "deleted {count} notes",
    "sticky_note.converted": "converted {count} notes to tickets",
    "ticket.created": "created {count} tickets",
    "ticket.updated": "updated {count} tickets",
    "ticket.state_changed": "moved {count} tickets",
    "ticket.assigned": "assigned {count} tickets",
    "ticket.deleted": "deleted {count} tickets",
    "ticket.restored": "restored {count} tickets",
    "ticket.watcher_added": "added {count} watchers",
    "ticket.watcher_removed": "removed {count} watchers",
    "ticket.relation_added": "added {count} relations",
    "ticket.relation_removed": "removed {count} relations",
    "ticket.link_added": "added {count} links",
    "ticket.link_removed": "removed {count} links",
    "ticket.link_changed": "updated {count} links",
    "comment.created": "wrote {count} comments",
    "comment.updated": "edited {count} comments",
    "comment.deleted": "deleted {count} comments",
    "comment.restored": "restored {count} comments",
    "comment.reacted": "reacted {count} times",
    "file.added": "added {count} files",
    "file.deleted": "deleted {count} files",
}

# An en dash.
NOTHING_SAID = "\u2013"

# What sentences name
A_TICKET = "a ticket"
NO_NAME = "(no name)"
INVALID_PASSWORD_LINK = "opened an invalid password link"
PASSWORD_LINK_CREATED = "created a link to choose a password"
EMAIL_CONFIRMED = "confirmed an email address"


def and_more(others: int) -> str:
    return f"and {others} more"


# Bots
LESS_THAN_A_CENT = "less than $0.01"
NO_ACTIVE_TOKEN = "The bot has no active token or is deactivated."


def ticket(display_id: str) -> str:
    return f"Ticket {display_id}"


def project(key: str) -> str:
    return f"Project {key}"


def wiki_page(slug: str) -> str:
    return f"Wiki page {slug}"


def refused(message: str, code: str) -> str:
    return f"{message} ({code})"


ALLOWED = "Allowed by its access and projects."
EVENT_OF_ANOTHER_BOT = "Event not found for this bot."
ALL = "All"
CHANGED_WITHOUT_READING = "Changed without reading"
WIKI = "Wiki"

# Messages of chats
BOTS = "Bots"
PEOPLE = "People"
WEBHOOKS = "Webhooks"
SOMEONE = "Someone"


def named_bot(name: str) -> str:
    return f"{name} (bot)"


# Filters
TIME = "Time"
LAST_HOUR = "Last hour"
LAST_DAY = "Last 24 hours"
LAST_WEEK = "Last 7 days"
LAST_MONTH = "Last 30 days"
ALL_TIME = "All time"
WORK = "Work"
OF_WORK = "Tickets, comments, wiki pages and notes"
ADMINISTRATION = "Administration"
OF_ADMINISTRATION = "Logins, bots, settings and webhooks"
TODAY = "Today"
YESTERDAY = "Yesterday"
JSON_LINES = "JSON lines"
WHO = "Who"
ANYONE = "Anyone"
EVENT = "Event"
ANY_EVENT = "Any event"
AREA = "Area"
ANY_AREA = "Work and administration"
PROJECT = "Project"
ANY_PROJECT = "Any project"


def several_event_types(count: int) -> str:
    return f"{count} types of events"


def all_events(subject: str) -> str:
    return f"{subject}: all"


SUCCEEDED = "Succeeded"
FAILED = "Failed"
BOT = "Bot"
ANY_BOT = "Any bot"
TOOL = "Tool"
ANY_TOOL = "Any tool"
RESULT = "Result"
ANY_RESULT = "Any result"
