"""Output of the commands that sweep and that verify the audit log."""


# Sweeping
def already_running(sweeper: str) -> str:
    return f"{sweeper}: already running in another process"


def swept(sweeper: str, deleted: int) -> str:
    return f"{sweeper}: {deleted} deleted"


# Verifying the log
def event_inserted(event_id: str) -> str:
    return f"Event {event_id} was inserted: no checkpoint has it."


def event_removed(event_id: str, sequence: int) -> str:
    return f"Event {event_id} was removed (checkpoint {sequence})."


def event_changed(event_id: str, sequence: int) -> str:
    return f"Event {event_id} was changed (checkpoint {sequence})."


def checkpoint_missing(sequence: int) -> str:
    return f"Checkpoint {sequence} is missing."


def checkpoint_not_following(sequence: int) -> str:
    return f"Checkpoint {sequence} does not follow the one before."


def checkpoints_cut_off(first: int, last: int, file: str) -> str:
    return (
        f"Checkpoints {first} to {last} are in {file} and not in the database: the end of the "
        "log was cut off, or an older backup was restored."
    )


def checkpoint_changed(sequence: int) -> str:
    return f"Checkpoint {sequence} was changed: its hash does not match."


def checkpoint_unsigned(sequence: int) -> str:
    return f"Checkpoint {sequence} has no valid signature."


def checkpoint_of_another_key(sequence: int, public_key: str) -> str:
    return f"Checkpoint {sequence} is signed by a different key, {public_key}."


def checkpoint_differs_from_file(sequence: int) -> str:
    return f"Checkpoint {sequence} differs from the one in the file of checkpoints."


def checkpoint_list_broken(sequence: int) -> str:
    return f"Checkpoint {sequence} was changed: its list of events is broken."


def checkpoint_root_wrong(sequence: int) -> str:
    return f"Checkpoint {sequence} was changed: its root does not match its events."
