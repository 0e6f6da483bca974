"""Messages of imports over the APIs of trackers."""

from pathlib import Path

USE_A_DAY = "Use a day or time such as 2026-11-01."
CONFIDENTIAL = "confidential in GitLab; visible here to everyone with access to the project"
RESTRICTED_COMMENTS = "restricted comments; visible here to everyone with access to the project"


def too_many_parts(limit: int) -> str:
    return f"more than {limit} labels, relations or attachments"


def and_more(left: int) -> str:
    return f"... and {left:,} more; --verbose lists all"


PREVIEW_AND_DOWNLOAD_KEPT = "Preview: nothing was imported. The download is kept for the import."
WARNING = "Warning"
ERROR = "Error"
SUCCESS = "Success"
NOTE = "Note"
FORMER_USER = "Former user"


def weight(weight: str) -> str:
    return f"weight {weight}"


def milestone(title: str) -> str:
    return f"milestone {title}"


def project(name: str) -> str:
    return f"project {name}"


def estimate(estimate: str) -> str:
    return f"estimate {estimate}"


def cycle(cycle: str) -> str:
    return f"cycle {cycle}"


def fix_version(name: str) -> str:
    return f"Fix version {name}"


def affects_version(name: str) -> str:
    return f"Affects version {name}"


def sprint(name: str) -> str:
    return f"Sprint {name}"


SOMEONE = "someone"


def earlier_changes(count: int, noun: str) -> str:
    return f"{count} earlier {noun}"


def changes_in(count: int, noun: str, span: str) -> str:
    return f"{count} {noun}, {span}"


def days(first: str, last: str) -> str:
    return f"{first} to {last}"


# Changes in another tracker, after who made them
def by_commit(commit: str) -> str:
    return f" by commit {commit}"


def label_added(name: str) -> str:
    return f"added label {name}"


def label_removed(name: str) -> str:
    return f"removed label {name}"


def assigned(name: str) -> str:
    return f"assigned {name}"


def unassigned(name: str) -> str:
    return f"unassigned {name}"


def milestone_added(title: str) -> str:
    return f"added it to milestone {title}"


def milestone_removed(title: str) -> str:
    return f"removed it from milestone {title}"


def title_changed(old: object, new: object) -> str:
    return f"changed the title from “{old}” to “{new}”"


REOPENED = "reopened it"


def mentioned_in(commit: str) -> str:
    return f"mentioned it in commit {commit}"


MARKED_DUPLICATE = "marked it as a duplicate"
MOVED_HERE = "moved it here"
THAT_WAS_DELETED = "that was deleted"


def changed(name: str, old: str, new: str) -> str:
    return f"changed {name} from {old} to {new}"


def was_set(name: str, new: str) -> str:
    return f"set {name} to {new}"


def removed(name: str, old: str) -> str:
    return f"removed {name} {old}".strip()


def state_changed(verb: str) -> str:
    return f"{verb} it"


def labels_changed(verb: str, names: str) -> str:
    return f"{verb} label {names}"


def priority_changed(before: str, after: str) -> str:
    return f"changed priority from {before} to {after}"


# Downloading from another tracker
ASK_GITHUB_TOKEN = "GitHub token (empty for a public repository)"
ASK_GITLAB_TOKEN = "GitLab token (empty for a public project)"
ASK_JIRA_TOKEN = "Jira token"
ASK_LINEAR_KEY = "Linear API key"
JIRA_CLOUD_NEEDS_ACCOUNT = "Jira Cloud needs --account, the email address of the token."
NO_TOKEN = "This is not a valid token."
NAME_REPOSITORY = "Name the repository as owner/name."
NAME_GITLAB_PROJECT = "Name the project as group/name."
NAME_JIRA_PROJECT = "Name the project by its key, such as OPS."
NAME_TEAM = "Name the team by its key, such as ENG."
ADDRESS_INVALID = "Enter an address such as https://tracker.example.com."
ADDRESS_NOT_HTTPS = "The address must begin with https://, as the token is sent there."


def download_not_kept(problem: str) -> str:
    return f"The download cannot be kept: {problem}."


INTERRUPTED = "Interrupted. Run the same command again to continue."


def continuing(moment: str) -> str:
    return f"Continuing the download of {moment} UTC; use --fresh to start over"


def certificate_rejected(tracker: str, problem: str) -> str:
    return (
        f"The certificate of {tracker} was rejected: {problem}. If a private authority issued "
        "it, name that with --ca-bundle."
    )


def redirects_again(tracker: str) -> str:
    return f"{tracker} redirects too many times."


def http_status(status: int) -> str:
    return f"HTTP {status}"


ANSWER_NOT_JSON = "the response is not JSON"


def other_host(tracker: str) -> str:
    return (
        f"{tracker} sent a link to another host. It was not followed, because that would send the "
        "token there."
    )


def did_not_answer(tracker: str, attempts: int, problem: str) -> str:
    return (
        f"{tracker} did not respond to {attempts} attempts: {problem}. Run the same command again "
        "to continue."
    )


def limit_reached(tracker: str, minutes: str) -> str:
    return (
        f"The request limit of {tracker} is reached. Run the same command again in "
        f"{minutes} to continue."
    )


def limit_reached_now(tracker: str) -> str:
    return f"The request limit of {tracker} is reached"


def token_not_accepted(tracker: str) -> str:
    return f"{tracker} does not accept the token (HTTP 401)."


def token_may_not_read(tracker: str, said: str) -> str:
    return f"The token does not have permission to read this in {tracker} (HTTP 403){said}."


def no_such_project(tracker: str, said: str) -> str:
    return f"{tracker} has no such project, or the token cannot access it (HTTP 404){said}."


def answered(tracker: str, status: int, said: str) -> str:
    return f"{tracker} answered HTTP {status}{said}."


def same_page_again(tracker: str) -> str:
    return f"{tracker} returned the same page twice."


def too_many_pages(limit: int) -> str:
    return f"The download has more than {limit:,} pages."


DOWNLOAD_TOO_LARGE = "The download is larger than 8 GiB. Use --since to import less."
OTHER_RUN_IMPORTS = "Another run is importing the same issues. Wait until it ends."


def no_list(address: str) -> str:
    return f"{address} did not return the expected list. Check the address of the tracker."


def linear_refused(said: str) -> str:
    return f"Linear refused a query: {said}."


NO_ANSWER_TO_QUERY = "Linear returned no result."


def too_many_files(limit: int) -> str:
    return f"more than {limit} files; run the same command again for more"


def leave_files_out(problem: object) -> str:
    return f"{problem} With --no-files, files are left out."


def files_not_available(host: str, problem: str) -> str:
    return f"Files of {host} are not available ({problem}). Run the same command again to continue."


def files_not_written(folder: Path, problem: str) -> str:
    return (
        f"Files cannot be written to {folder}: {problem}. Run the same command again to continue."
    )


def file_not_available(problem: str) -> str:
    return f"A file is not available ({problem})"


def file_gone(status: int) -> str:
    return f"{http_status(status)}; only a run with --fresh asks for it again"


FILE_TOO_LARGE = "it is larger than the limit for files"
ADDRESS_NOT_PLAIN = "its address is ambiguous"
ANSWER_IS_A_PAGE = "the response is a web page"
ON_ANOTHER_HOST = "it is on another host"
REDIRECTS_AGAIN = "too many redirects"
NO_ANSWER = "no response"
IN_PRIVATE_NETWORK = "its host is in a private network"
FILE_NOT_HTTPS = "its address is not https"


def so_far(report: str) -> str:
    return f"\nSo far:\n{report}"


GITLAB_NEXT_PAGE_ELSEWHERE = "GitLab linked to a next page outside its API."
