"""Changes of tickets in one call each."""

from tests.support.story import ok


def comment(caller, text="Wait", ticket="OPEN-1"):
    return ok(caller.post(f"/tickets/{ticket}/comments", {"body": text}), 201)


def change(caller, priority, ticket="OPEN-1"):
    return ok(caller.patch(f"/tickets/{ticket}", {"priority": priority}))
