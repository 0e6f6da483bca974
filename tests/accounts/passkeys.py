"""Adding a passkey and logging in with it over REST, as browsers do."""

from tests.accounts.helpers import API, PASSWORD, events

OWN = f"{API}/users/me/passkeys"
LOGIN = f"{API}/auth/passkey"


def begin_adding(client, password=PASSWORD):
    return client.post(f"{OWN}/options", json={"current_password": password})


def add(client, device, name="Phone", **changes):
    """Add a passkey of a device; ``changes`` make its response wrong."""
    begun = begin_adding(client)
    assert begun.status_code == 200, begun.json
    made = device.make(begun.json["options"], **changes)
    return client.post(OWN, json={"name": name, "state": begun.json["state"], **made})


def begin(client):
    answer = client.post(f"{LOGIN}/options", json={})
    assert answer.status_code == 200, answer.json
    return answer.json


def log_in(client, device, begun=None, **changes):
    begun = begun or begin(client)
    return client.post(
        LOGIN, json={"state": begun["state"], **device.answer(begun["options"], **changes)}
    )


def mine(client):
    return client.get(OWN).json["data"]


def reasons(app):
    return [event.payload["reason"] for event in events(app, "auth.login.failure")]
