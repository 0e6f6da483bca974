"""What is wrong with settings, and with the arguments of commands."""

from pathlib import Path

# Settings together
DOCS_NEED_RENDERERS = (
    "DOCS_ENABLED needs the API documentation's renderers: run `make install`, or install "
    "requirements-docs.txt."
)
S3_NEEDS_BOTO3 = "FILES_URL needs boto3: install requirements-s3.txt."
SIGN_ON_INCOMPLETE = "Single sign-on needs OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET."
NO_WAY_TO_LOG_IN = "PASSWORD_LOGIN can only be off where OIDC_ISSUER is set."
NO_DATABASE_FOLDER = "DATABASE_URL names a file in a directory that does not exist."


def moved_away(path: Path, suffix: str, name: str) -> str:
    return (
        "This installation was moved with 'flask copy-to'. Set DATABASE_URL to the new "
        f"database. To go back instead, rename {path}{suffix} to {name}."
    )


# A setting; ``name`` is its name
def not_an_issuer(name: str) -> str:
    return f"{name} must be an address such as https://login.example.org, or http on this machine."


def not_one_line(name: str, max_length: int) -> str:
    return f"{name} must be one line of at most {max_length} printable characters."


def not_a_token(name: str) -> str:
    return f"{name} must be 16 to 200 printable ASCII characters without spaces."


def not_a_network(name: str, value: str) -> str:
    return f"{name} must list networks such as 10.0.0.0/8, not {value!r}."


def not_a_host_name(name: str, value: str) -> str:
    return f"{name} must list host names such as tickets.example.org, not {value!r}."


def not_a_bucket(name: str) -> str:
    return f"{name} must be an address such as s3://bucket/prefix?endpoint=https://s3.example.org."


def not_a_type(name: str, value: str) -> str:
    return f"{name} must list types such as image/*, not {value!r}."


def not_certificates(name: str) -> str:
    return f"{name} must name a file of certificates in PEM form."


def not_a_number(name: str, lowest: int, highest: int, value: str) -> str:
    return f"{name} must be a whole number from {lowest} to {highest}, not {value!r}."


def not_a_boolean(name: str, value: str) -> str:
    return f"{name} must be true or false, not {value!r}."


def not_a_choice(name: str, choices: str, value: str) -> str:
    return f"{name} must be one of {choices}, not {value!r}."


def not_an_address(name: str, value: str) -> str:
    return f"{name} must be a host name or an IP address, not {value!r}."


def not_a_base_url(name: str) -> str:
    return (
        f"{name} must be an address such as https://tickets.example.org, with no path and "
        "nothing after it."
    )


def not_a_mail_server(name: str) -> str:
    return (
        f"{name} must be smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST:465, with "
        "special characters of the password as %XX, or smtp://HOST?starttls=off without TLS."
    )


def not_a_sender(name: str) -> str:
    return f"{name} must be a sender such as Docket <docket@example.org>."


def not_a_database(name: str) -> str:
    return f"{name} is not a database address."


def unknown_database(name: str) -> str:
    return f"{name} must begin with postgresql:// or sqlite:///."


def two_at_signs(name: str) -> str:
    return f"{name} has two @ signs: write the one in the password as %40."


def no_database_name(name: str) -> str:
    return f"{name} must name a database, as in postgresql://user@host/docket."


def no_database_file(name: str) -> str:
    return f"{name} must name a file, as in sqlite:////var/lib/docket/docket.db."


def secret_missing(name: str) -> str:
    return f"{name} must be set with PostgreSQL, and be the same for every server on it."


def kept_in(name: str, folder: Path) -> str:
    return f"{name} (kept in {folder})"


def secret_too_short(name: str, minimum: int) -> str:
    return f"{name} must have at least {minimum} characters."


def secret_too_plain(name: str, minimum: int) -> str:
    return f"{name} must be hard to guess: it has fewer than {minimum} different characters."


def not_a_folder(name: str, problem: str | None, path: Path) -> str:
    return f"{name} must be a directory: {problem} ({path})."


def folder_not_writable(name: str, path: Path) -> str:
    return f"{name} must be a directory that can be written to ({path})."


# Commands
def cannot_use_database(problem: str) -> str:
    return (
        f"Cannot use the database: {problem}. If it is new, start the server or run 'flask "
        "setup-admin' to create its tables."
    )


def key_unreadable(path: Path, problem: Exception) -> str:
    return f"The secret key in {path} cannot be read: {problem}. Restore it from a backup."


# A command
INTERRUPTED = "Interrupted."
OUTPUT_CLOSED = "Standard output is closed."


def refused_by_system(problem: OSError) -> str:
    # What is written to has no name, such as standard output.
    where = problem.filename or "while reading or writing"
    return f"{problem.strerror or problem} ({where})."


def not_utf8(name: str) -> str:
    return f"The value of {name} is not UTF-8."
