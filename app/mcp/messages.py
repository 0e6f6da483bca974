"""Messages for requests that the endpoint for bots cannot answer."""

# Requests
ORIGIN_NOT_ALLOWED = "This origin is not allowed."
USE_POST = "Use POST."


def send_accept(content_type: str) -> str:
    return f"Send Accept: {content_type}."


INTERNAL_ERROR = "Internal error"


def parse_error(error: str) -> str:
    return f"Parse error: {error}"


NO_BATCHES = "Batches are not supported; send one message."
NOT_A_MESSAGE = 'A message is an object with "jsonrpc": "2.0".'
METHOD_NOT_A_STRING = "method must be a string."
ID_INVALID = "id must be a string or an integer."
PARAMS_NOT_AN_OBJECT = "params must be an object."


def needs(key: str) -> str:
    return f"params._meta needs {key}."


def header_differs(header: str) -> str:
    return f"The {header} header must match the body."


UNSUPPORTED_VERSION = "Unsupported protocol version"


def method_not_found(method: str) -> str:
    return f"Method not found: {method}"


VERSION_NOT_A_STRING = "protocolVersion must be a string."
CURSOR_OF_ANOTHER_LIST = "The cursor is from another list."
URI_NOT_A_STRING = "uri must be a string."
UNKNOWN_PROMPT = "Unknown prompt."


def required(name: str) -> str:
    return f"{name} (required)"


def prompt_arguments(named: str, limit: int) -> str:
    return f"Arguments: {named}. Each is a string of at most {limit} characters."


CALL_INVALID = "tools/call takes name, a string, and arguments, an object."


def unknown_tool(name: str) -> str:
    return f"Unknown tool: {name[:128]}"


# Where to find what was not found
FIND_TICKETS = "Find tickets with search or list_tickets."
FIND_PROJECTS = "list_projects shows the projects you can use."
FIND_PAGES = "Find pages with search or list_wiki_pages."
FIND_COMMENTS = "list_comments shows a ticket's comments."
FIND_NOTES = "list_sticky_notes shows a project's notes."
FIND_RELATIONS = "get_ticket shows a ticket's relations."
FIND_EVENTS = "Event ids are in the event_ids of a change, and in get_ticket with history."
FIND_REVISIONS = "list_wiki_revisions shows the revisions of a page."
FIND_WATCHERS = "get_ticket shows who watches a ticket."
SEE_PROJECTS = " list_projects shows the projects you can use."
A_PERSON_CAN_CHANGE = " A person can change that on the Bots page."

# Arguments of tools
ARGUMENT_REQUIRED = "This argument is required."


def use_instead(name: str, other: str) -> str:
    return f"{name} is not an argument of this tool; use {other}."


def takes(name: str, allowed: str) -> str:
    return f"{name} is not an argument of this tool; it takes: {allowed}."


def use_in_this_call(name: str, use: str) -> str:
    return f"{name} is not an argument of this call; use {use}."


def limit_range(minimum: int, maximum: int) -> str:
    return f"limit must be {minimum} to {maximum}."


NOT_STRINGS = "This must be an array of strings."
NOT_AN_EDIT = "Each edit must be an object with find and replace."
EDIT_NOT_STRINGS = "find and replace must be strings."
