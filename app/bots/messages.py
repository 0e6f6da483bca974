"""Messages of bots and their pages to people and to API clients."""

from collections.abc import Sequence


def rate_limit_invalid(lowest: int, highest: int) -> str:
    return f"rate_limit_per_minute must be {lowest} to {highest}."


ONLY_PROJECT = (
    "This is the bot's only project. Without it, the bot could access every project. Give it "
    "access to another project first, or deactivate it."
)
NO_ACTIVE_TOKEN = "The bot has no active token."


# Pages
MODES = {"read": "Read only", "write": "Read and write"}


def may_do(
    username: str, project_keys: Sequence[str], *, writes: bool, edits_global_wiki: bool
) -> str:
    verb = "read and write" if writes else "read"
    where = ", ".join(project_keys) if project_keys else "every project, including future ones"
    wiki = "can" if edits_global_wiki else "cannot"
    return (
        f"{username} can {verb} tickets, comments, wiki pages and notes in {where}. "
        f"It {wiki} edit workspace wiki pages."
    )


SELECT_PROJECTS_OR_ALL = "Select at least one project, or all projects."
THE_BOT = "The bot"
SELECT_A_PROJECT = "Select at least one project."
SELECT_A_BOT = "Select a bot."
DELETED_PROJECT = "a deleted project"
CLAUDE_CODE_AND_OTHERS = "Claude Code and many others"
IN_A_SHELL = "in a shell"
OTHER_CLIENTS = "Other clients (stdio only)"
WITH_NODE_AND_BRIDGE = "with Node and the public bridge mcp-remote"
