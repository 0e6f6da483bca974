"""What the document tells people besides schemas: examples, descriptions and links."""

import pytest

from app.rest.examples import example_of, like
from app.rest.fields import StrictSchema, Text
from tests.contract.compatibility import today
from tests.support.openapi import document_of
from tests.support.story import add_file, form_of, ok

JSON = "application/json"


def operations(content):
    return {
        operation["operationId"]: (method, path, operation)
        for path, methods in content["paths"].items()
        for method, operation in methods.items()
    }


def bodies(operation):
    """The bodies of requests and successful responses of an operation, with their kind."""
    if "requestBody" in operation:
        # A form with a file has no example.
        content = operation["requestBody"]["content"]
        yield from (("request", content[JSON]) for kind in content if kind == JSON)
    for status, answer in operation["responses"].items():
        if int(status) < 400 and JSON in answer.get("content", {}):
            yield status, answer["content"][JSON]


def wrong(app, schema, value):
    return [error.message for error in document_of(app).validator(schema).iter_errors(value)]


@pytest.mark.one_database
def test_every_body_has_an_example_that_fits_it(app):
    for name, (_, _, operation) in operations(document_of(app).content).items():
        for kind, body in bodies(operation):
            assert wrong(app, body["schema"], body["example"]) == [], (name, kind)


@pytest.mark.one_database
def test_every_example_of_a_field_fits_it(app):
    content = document_of(app).content
    seen = 0
    for name, schema in content["components"]["schemas"].items():
        for key, described in schema.get("properties", {}).items():
            for example in described.get("examples", ()):
                assert wrong(app, described, example) == [], (name, key)
                seen += 1
    assert seen > 100


def test_the_examples_tell_one_story():
    found = operations(today())

    def answer(name, status="200"):
        return found[name][2]["responses"][status]["content"][JSON]["example"]

    ticket = answer("tickets.get")
    assert ticket["display_id"] == "OPS-12"
    assert ticket["project_id"] == answer("projects.get")["id"]
    assert ticket["assignee"]["id"] == ticket["assignee_user_id"] == answer("users.me")["id"]
    assert ticket["state"]["id"] == answer("projects.workflow_states.list")["data"][0]["id"]
    assert ticket["labels"][0]["id"] == answer("projects.labels.list")["data"][0]["id"]
    sent = found["tickets.create"][2]["requestBody"]["content"][JSON]["example"]
    made = answer("tickets.create", "201")
    assert sent["label_ids"] == [label["id"] for label in made["labels"]]
    assert {name: made[name] for name in sent if name != "label_ids"} == {
        name: value for name, value in sent.items() if name != "label_ids"
    }
    hit = answer("search.query")["data"][0]
    assert (hit["id"], hit["title"]) == (ticket["id"], ticket["title"])
    ((start, end),) = hit["highlights"]
    assert hit["snippet"][start:end] == "certificates"


def test_a_required_field_without_an_example_is_refused():
    fields = {"told": Text(required=True, metadata=like("x")), "silent": Text(required=True)}
    with pytest.raises(ValueError, match=r"Vote\.silent has no example"):
        example_of(StrictSchema.from_dict(fields, name="Vote"))


@pytest.mark.one_database
def test_every_parameter_and_every_field_of_a_request_is_described(app):
    document = document_of(app)
    silent = []
    for name, (_, _, operation) in operations(document.content).items():
        for parameter in operation["parameters"]:
            shown = document.resolved(parameter) if "$ref" in parameter else parameter
            if not shown.get("description"):
                silent.append((name, shown["name"]))
        if "requestBody" in operation:
            (body,) = operation["requestBody"]["content"].values()
            schema = document.resolved(body["schema"])
            fields = schema.get("properties", {}).items()
            silent += [(name, key) for key, field in fields if not field.get("description")]
    assert silent == []


def resolved(pointer, body):
    for part in pointer.removeprefix("/").split("/"):
        body = body[int(part) if isinstance(body, list) else part]
    return body


def parameters(link, path, body):
    """The parameters that a link passes to its target: its runtime expressions, evaluated."""
    return {
        name: path[expression.removeprefix("$request.path.")]
        if expression.startswith("$request")
        else resolved(expression.removeprefix("$response.body#"), body)
        for name, expression in link["parameters"].items()
    }


def links(content):
    for name, (_, path, operation) in operations(content).items():
        for status, answer in operation["responses"].items():
            for link in answer.get("links", {}).values():
                yield name, path, answer, link, int(status)


def test_every_link_names_all_that_its_target_needs():
    content = today()
    targets = operations(content)
    for name, _, answer, link, status in links(content):
        method, _, target = targets[link["operationId"]]
        needed = {one["name"] for one in target["parameters"] if one.get("in") == "path"}
        assert set(link["parameters"]) == needed, (name, method)
        assert 200 <= status < 300
        own = {one["name"]: "x" for one in targets[name][2]["parameters"] if "name" in one}
        assert all(parameters(link, own, answer["content"][JSON]["example"]).values()), name


def test_lists_and_creates_lead_to_what_can_be_read_alone():
    content = today()
    leading = {(name, link["operationId"]) for name, _, _, link, _ in links(content)}
    for name, (_, path, _) in operations(content).items():
        alone = [
            methods["get"]["operationId"]
            for other, methods in content["paths"].items()
            if other.rpartition("/")[0] == path and other.endswith("}") and "get" in methods
        ]
        assert {(name, one) for one in alone} <= leading
    assert {("tickets.create", "tickets.get"), ("projects.tickets.list", "tickets.get")} <= leading


def start(ada, project):
    """Create one of each thing; yield requests that links start from: (operation, path, body)."""
    ticket = ok(ada.post(f"/projects/{project}/tickets", {"title": "Rotate"}), 201)
    other = ok(ada.post(f"/projects/{project}/tickets", {"title": "Old"}), 201)
    page = ok(ada.post("/wiki/pages", {"title": "Hosts", "body": "[[none]]"}), 201)
    ok(ada.post("/wiki/pages", {"title": "Names", "body": "[[hosts]]"}), 201)
    below = {"id": project}
    on = {"id_or_display_id": ticket["display_id"]}
    hook = {"url": "https://example.org/", "secret": "s" * 16, "event_types": ["webhook.created"]}
    relation = {"type": "relates_to", "target_ticket_id": other["id"]}
    bot = {"username": "bot-ops-1", "mode": "read"}
    person = {"username": "carol", "password": "correct horse battery"}
    yield "projects.create", {}, {"key": "OPS", "name": "Operations"}
    yield "projects.workflow_states.create", below, {"name": "New", "category": "active"}
    yield "projects.labels.create", below, {"name": "security"}
    yield "tickets.create", below, {"title": "One"}
    yield "tickets.relations.create", on, relation
    yield "tickets.links.add", on, {"url": "https://example.org/1"}
    yield "tickets.watchers.add", on, {}
    yield "comments.create", on, {"body": "Done"}
    yield "wiki.pages.create", {}, {"title": "Certificates"}
    yield "sticky_notes.create", {}, {"body": "Mine"}
    yield "projects.sticky_notes.create", below, {"body": "Ours"}
    yield "bots.create", {}, bot
    yield "users.create", {}, person
    yield "users.feeds.create", {}, {"kind": "calendar"}
    yield "webhooks.create", {}, hook
    forge = {"name": "GitHub", "forge": "github", "project_ids": [project]}
    yield "integrations.create", {}, forge
    for name in (
        "projects",
        "tickets",
        "bots",
        "webhooks",
        "integrations",
        "users.feeds",
        "sticky_notes",
        "wiki.pages",
        "audit",
    ):
        yield f"{name}.list", {}, None
    for name in ("workflow_states", "labels", "tickets", "sticky_notes", "activity"):
        yield f"projects.{name}.list", below, None
    for name in (
        "tickets.relations",
        "tickets.links",
        "tickets.watchers",
        "tickets.activity",
        "comments",
    ):
        yield f"{name}.list", on, None
    comment = ok(ada.post(f"/tickets/{other['id']}/comments", {"body": "Look"}), 201)
    for name, with_files, address in (
        ("tickets", on, f"/tickets/{ticket['id']}"),
        ("comments", {"id": comment["id"]}, f"/comments/{comment['id']}"),
        ("wiki", {"id": page["id"]}, f"/wiki/pages/{page['id']}"),
    ):
        # This file stays when the one of the request is deleted.
        add_file(ada, address)
        yield f"{name}.files.create", with_files, form_of(b"Words")
        yield f"{name}.files.list", with_files, None
    yield "wiki.revisions.list", {"id": page["id"]}, None
    yield "wiki.backlinks.list", {"id": page["id"]}, None
    yield "wiki.broken_links.list", {}, None


def test_links_lead_to_what_is_there(app, cast):
    content = today()
    known = operations(content)

    def ask(name, path, body):
        method, template, _ = known[name]
        given = None if method in {"get", "delete"} else body
        kind = "data" if given and "file" in given else "json"
        return cast.ada.call(method.upper(), template.format(**path), **{kind: given})

    followed, ends = set(), set()
    for name, path, body in start(cast.ada, cast.open_project):
        answer = ask(name, path, body)
        assert answer.status_code in {200, 201}, (name, answer.get_json())
        for source, _, _, link, status in links(content):
            if source != name or status != answer.status_code:
                continue
            target, needed = link["operationId"], parameters(link, path, answer.get_json())
            followed.add((source, target))
            if known[target][0] == "delete":
                ends.add((target, tuple(needed.items())))
            else:
                assert ask(target, needed, {}).status_code not in {404, 405}, (source, target)
    for target, needed in ends:
        assert ask(target, dict(needed), None).status_code == 204, target
    beyond = {
        # The first admin and a delivery attempt need more than one request to exist.
        ("setup.admin", "users.update"),
        ("webhooks.deliveries.list", "webhooks.deliveries.retry"),
        # The request that converts a note is itself the target of a link.
        ("sticky_notes.convert", "tickets.get"),
    }
    assert {(name, link["operationId"]) for name, _, _, link, _ in links(content)} == (
        followed | beyond
    )
