"""Output of the operator commands."""

from pathlib import Path


def server_runs(process: str) -> str:
    return f"The server (process {process}) is still running. Stop it first."


def checkpoints_made(checkpoints: str) -> str:
    return f"{checkpoints} created."


# Audit log
def unknown_event_type(event_type: str) -> str:
    return f"Unknown event type: {event_type}."


def not_a_public_key(value: str) -> str:
    return f"{value!r} is not a key that 'flask audit key' prints."


OTHER_MAKES_CHECKPOINTS = "Another process is making checkpoints. Try again shortly."
CHECKPOINTS = "Checkpoints"


def and_more(count: int) -> str:
    return f"And {count:,} more."


def covered(events: str, checkpoints: str, uncovered: int) -> str:
    return f"{events} in {checkpoints}, {uncovered:,} without one yet."


LOG_MATCHES = "The log matches its checkpoints."
NOT_IN_CHECKPOINT = "This event is not in a checkpoint yet."
NO_SUCH_EVENT = "There is no event with this ID."

# Bots
NO_TOKEN = "no token"


def all_paused_since(moment: str) -> str:
    return f"All bots have been paused since {moment}."


def mcp_url(base_url: str, token: str) -> str:
    return f"MCP URL: {base_url}/mcp/bot/{token}/mcp"


def token_lost(name: str, problem: str | None) -> str:
    return (
        f"The new token of {name} cannot be written: {problem}. Run 'flask bots rotate {name}' for "
        "another."
    )


def token_revoked(name: str) -> str:
    return f"Revoked the token of {name}."


def paused(name: str, *, is_paused: bool) -> str:
    return f"{'Paused' if is_paused else 'Resumed'} {name}."


ALL_BOTS_PAUSED = "All bots paused."
ALL_BOTS_RESUMED = "All bots resumed."


# What a database holds
def created(what: str) -> str:
    return f"Created {what}."


# What doctor finds
START_DATABASE = "Start it, or fix DATABASE_URL."
WITHOUT_TLS = "served without TLS"
USE_TLS = "Use a reverse proxy with TLS and set BASE_URL to the https address."


def unreachable(base_url: str, kind: str) -> str:
    return f"{base_url} cannot be reached from here ({kind})"


MAKE_REACHABLE = "To check it, start the server and make that address reachable from here."


def other_server(base_url: str) -> str:
    return f"{base_url} is not a server with this SECRET_KEY"


FIX_ADDRESS = "Fix BASE_URL, SECRET_KEY or the target of the proxy."
LOOKALIKE_HEADER = "The proxy treats X_Forwarded_For as X-Forwarded-For. Make it drop such headers."
FORGED_ADDRESS = (
    "Clients can forge their address: TRUSTED_PROXIES is too high, or the proxy passes "
    "X-Forwarded-For on unchanged instead of adding the client address."
)
SET_TRUSTED_PROXIES = "All clients appear to be the proxy. Set TRUSTED_PROXIES."
SQLITE_LIBRARY = "SQLite library"
SECRET_KEY = "secret key"


def arrives(client: str, trusted: int) -> str:
    return f"a request from here arrives from {client} with TRUSTED_PROXIES={trusted}"


def postgresql(version: str | None) -> str:
    return f"PostgreSQL {version}"


POOLER = "shared by a pooler between transactions"
# Settings of PostgreSQL that Docket needs.
TURN_ON = {
    "synchronous_commit": (
        "A crash of PostgreSQL can lose changes that were confirmed: "
        "ALTER ROLE docket SET synchronous_commit = on."
    ),
    "track_activities": (
        "Inboxes and mails can miss events, because running transactions cannot be seen: "
        "as superuser, ALTER ROLE docket SET track_activities = on."
    ),
}


def is_off(setting: str) -> str:
    return f"{setting} is off"


def encoded_in(encoding: str) -> str:
    return f"encoding {encoding}"


SET_CLOCK = "Turn on NTP here or on the host of PostgreSQL. Docket uses the clock of PostgreSQL."


def clock(off: int) -> str:
    """``off``: how far the clock of this host is ahead of that of PostgreSQL, in milliseconds."""
    direction = "ahead of" if off > 0 else "behind"
    return f"{abs(off) / 1000:,.1f} seconds {direction} PostgreSQL"


RESTORE_BACKUP = "Restore a backup."
UPGRADE = "Start the server, or run 'flask db upgrade'."


def revision(version: str | None, newest: str) -> str:
    return f"revision {version} of {newest}"


SET_UP = "Open /setup or run 'flask setup-admin'."
RESUME_BOTS = "Run 'flask bots resume' to resume them."


def paused_since(moment: str) -> str:
    return f"paused since {moment}"


OLD_SQLITE = "This version has a write-ahead log bug. Docket's own lock avoids it."
DELIVERING = "A server is delivering them. After an import or a restore this takes a while."
NOT_DELIVERING = "No server is delivering. Start one, or run 'flask webhooks deliver-due'."


def waiting(count: int | None, late: int | None) -> str:
    return f"{count} waiting, {late} late"


def outdated_secrets(count: int) -> str:
    return f"secrets encrypted under the previous key: {count}"


ROTATE_KEY = "Run 'flask rotate-secret-key'."


def lost_secrets(count: int, noun: str) -> str:
    return f"cannot decrypt the secrets of {count} {noun}"


SET_KEY_OR_ROTATE = (
    "Set the SECRET_KEY (INSTANCE_DIR/secret_key) of this database. If it is lost, rotate the "
    "webhook secrets."
)


def lost_factors(count: int) -> str:
    return f"second factors that cannot be decrypted: {count}"


SET_KEY_OR_RECOVER = (
    "Set the SECRET_KEY (INSTANCE_DIR/secret_key) of this database. If it is lost, those people "
    "log in with recovery codes, or run 'flask users disable-totp NAME'."
)


def last_sweep(moment: str) -> str:
    return f"last at {moment}"


NO_SWEEP = "none yet"
SWEEPS_AFTER_STARTUP = "The server runs them one minute after startup."
FREE_SPACE = "Free up space. Writes fail when the disk is full."


def free(mebibytes: int, folder: Path) -> str:
    return f"{mebibytes} MiB free at {folder}"


COPY_FILES = "Copy them from the folder of a backup, FILE.files, into INSTANCE_DIR/files."


def contents(contents: str, missing: int, damaged: int) -> str:
    return f"{contents}, {missing} missing, {damaged} damaged"


# Restoring what was deleted
def project_not_deleted(key: str) -> str:
    return f"The project {key} is not deleted."


def restored_one(reference: str) -> str:
    return f"Restored {reference}."


COMMENT_RESTORED = "Restored the comment."


# Rewind
def no_time(value: str) -> str:
    return f"{value} is neither a time such as 2026-11-25T13:00 nor an age such as 4h."


UNTIL_BEFORE_SINCE = "--until must be later than --since."
PREVIEWING = "Previewing"
REWINDING = "Rewinding"
NOTHING_CHANGED = "Preview: nothing was changed."


def sums(back: int, kept: int) -> str:
    return f"{back} to revert" + (f", {kept} kept" if kept else "")


def values_kept(count: int, noun: str) -> str:
    return f"{count:6d} {noun}:"


NOTHING_TO_PUT_BACK = "Nothing to revert."
NOTHING_LEFT = "Nothing left to revert."

# The secret key
SET_BOTH_KEYS = (
    "Set SECRET_KEY to a new key and SECRET_KEY_PREVIOUS to the current one, restart every "
    "server, and run this again."
)
SIGNING = "Signing checkpoints"
ENCRYPTING_WEBHOOKS = "Encrypting webhook secrets"


def webhooks_encrypted(count: int) -> str:
    return f"Webhook secrets under the new key: {count}"


def webhooks_lost(count: int) -> str:
    return f"Decrypted by neither key: {count}. Rotate the secrets of those webhooks."


ENCRYPTING_INTEGRATIONS = "Encrypting integration secrets"


def integrations_lost(count: int) -> str:
    return f"Integrations whose secret neither key decrypts: {count}. Rotate it."


ENCRYPTING_FACTORS = "Encrypting second factors"


def factors_encrypted(count: int) -> str:
    return f"Second factors under the new key: {count}"


def factors_lost(count: int) -> str:
    return f"Decrypted by neither key: {count}. Run 'flask users disable-totp' for them."


def keep_previous_key(moment: str) -> str:
    return f"Keep the previous key until {moment}. Retried requests need it."


PREVIOUS_KEY_NOT_NEEDED = "The previous key is no longer needed."


# People
def person_not_found(username: str) -> str:
    return f"Person {username} not found."


def password_set(username: str) -> str:
    return f"Set a new password for {username} and ended all sessions."


CONFIRMED_NEEDS_ADDRESS = "--confirmed needs an address."


def link_lost(username: str, problem: str | None) -> str:
    return (
        f"The link of {username} cannot be written: {problem}. Run 'flask users link {username}' "
        "for another."
    )


def email_changed(username: str, *, is_set: bool) -> str:
    return f"{'Set' if is_set else 'Removed'} the email address of {username}."


def totp_turned_off(username: str) -> str:
    return f"Turned off two-factor authentication of {username}."


def deactivated(username: str) -> str:
    return f"Deactivated {username}."


def activated(username: str) -> str:
    return f"Activated {username}."


def not_an_address(value: str) -> str:
    return f"{value!r} is not an IP address."


def limits_reached(full: int, limits: str) -> str:
    return f"{full} of {limits} reached"


def address(address: str) -> str:
    return f"address {address}"


def site(address: str) -> str:
    return f"the /48 of {address}"


def username(username: str) -> str:
    return f"username {username}"


def attempts(whose: str, hits: int, limit: int, reset_at: str | None) -> str:
    return f"{whose}: {hits} of {limit}" + (f", resets at {reset_at}" if reset_at else "")


SPECIFY_WHOSE_LIMITS = "Specify --username, --address or --all."


def limits_reset(limits: str) -> str:
    return f"Reset {limits}."


FIX_BUCKET = "Fix FILES_URL, the keys in the environment, or the permissions of the bucket."


def bucket_not_listed(problem: str) -> str:
    return f"the bucket cannot be listed ({problem})"


def mail_not_ready(problem: str) -> str:
    return f"the server cannot be used: {problem}"


LOGGED_IN, MAIL_REACHABLE = "logged in", "reachable; SMTP_URL has no login"
FIX_SMTP = "Fix SMTP_URL, then run 'flask mail test ADDRESS'."
FIX_ISSUER = "Fix OIDC_ISSUER, or make the provider reachable from here."
SINGLE_SIGN_ON = "single sign-on"


def removed_of(count: int, noun: str, username: str) -> str:
    return f"Removed {count} {noun} of {username}."


def passkeys_stay(username: str) -> str:
    return (
        f"Passkeys of {username} still log in. "
        f"'flask users remove-passkeys {username}' removes them."
    )


def logins_stay(username: str) -> str:
    return (
        f"Linked logins of {username} still log in. "
        f"'flask users remove-logins {username}' removes them."
    )


NEVER_USED = "never used"
