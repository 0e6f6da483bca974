"""Read imported tickets over REST."""

from tests.support.story import ok


def comments(cast, ticket):
    return ok(cast.ada.get(f"/tickets/{ticket['id']}/comments"))["data"]


def files(cast, ticket):
    return ok(cast.ada.get(f"/tickets/{ticket['id']}/files"))["data"]


def links(cast, ticket):
    rows = ok(cast.ada.get(f"/tickets/{ticket['id']}/links"))["data"]
    return [(row["kind"], row["title"], row["url"]) for row in rows]


def relations(cast, ticket):
    rows = ok(cast.ada.get(f"/tickets/{ticket['id']}/relations"))["data"]
    return {(row["type"], row["direction"], row["ticket"]["title"]) for row in rows}
