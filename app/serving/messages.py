"""Texts that the server prints while it starts."""


def log_in_as(username: str, password: str) -> str:
    return f"Log in as {username} with the password {password}"


def password_lost(username: str, problem: str | None) -> str:
    return (
        f"The password of {username} cannot be written: {problem}. Set another with 'flask users "
        f"reset-password {username}'."
    )


WORKERS_STOP = "Workers keep stopping right after they start."


def not_writable(path: str) -> str:
    return f"{path} must be a file that this user can write to."


def already_served(process: str, database: str) -> str:
    return f"Another server (process {process}) already serves {database}; SQLite allows one."


def port_in_use(port: int) -> str:
    return f"PORT {port} is in use. Choose another one."


def port_needs_privileges(port: int) -> str:
    return f"PORT {port} needs privileges. Choose one above 1023."


def cannot_listen(error: str) -> str:
    return f"Cannot listen on HOST ({error})."


def database_unreachable(problem: str) -> str:
    return f"The database cannot be reached: {problem}"


DATABASE_NOT_WRITABLE = "The database cannot be written to."


def ready_to_set_up(app_name: str, base_url: str) -> str:
    return f"{app_name} is ready. Set it up at {base_url}/setup"


def needs_code(code: str) -> str:
    return f"From another machine, you need the setup code {code}"


def ready(app_name: str, base_url: str) -> str:
    return f"{app_name} is ready at {base_url}"
