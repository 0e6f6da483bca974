"""Every page by people, strangers and bots at every place, judged by the same policy.

A page that the table below does not name fails the test.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app.core import ids
from tests.authorization.policy import outcome
from tests.authorization.world import World
from tests.screenshots.__main__ import PAGES

PAGE = {"Accept": "text/html"}
# Pages without a picture of their own that a browser test opens, or whose template has a picture.
LOOKED_AT_ELSEWHERE = {
    "passkey_pages.show",
    "tickets_pages.edit_template",
    "webhooks_pages.show_delivery",
}
PEOPLE = ("ada", "bo")
STRANGERS = ("nobody", "smith", "revoked", "twofold")
IN_PROJECT = ("own", "other", "dead", "missing")
ON_TICKET = ("own", "other", "deleted", "dead", "missing")

# The subject of each page, which determines the places at which it is requested.
SUBJECTS: dict[str, tuple[tuple[str, ...], str]] = {
    "public": (("own",), """
        accounts_pages.login_page accounts_pages.log_in accounts_pages.log_out
        accounts_pages.setup_page accounts_pages.set_up
        people_pages.choose_password people_pages.save_choice
        sign_on_pages.begin sign_on_pages.finish sign_on_pages.log_out_by_provider
        assets.serve assets.colors help_pages.llms health.healthz health.readyz mcp.endpoint
        openapi.openapi_json integration_events.receive feeds_pages.calendar feeds_pages.activity
        account_mail_pages.show_confirmation account_mail_pages.confirm
        account_mail_pages.forgot_password account_mail_pages.request_reset
        notices_pages.ask notices_pages.unsubscribe
    """),
    "everything": (("own",), """
        people_pages.people people_pages.add_person accounts_pages.profile
        accounts_pages.save_name accounts_pages.save_email accounts_pages.save_password
        accounts_pages.save_preferences
        sign_on_pages.show sign_on_pages.begin_linking sign_on_pages.link
        second_factor_pages.show second_factor_pages.set_up second_factor_pages.confirming
        second_factor_pages.confirm second_factor_pages.make_recovery_codes
        second_factor_pages.disable passkey_pages.index passkey_pages.add
        inbox_pages.home audit_pages.index audit_pages.export audit_pages.news audit_pages.tool_log
        audit_pages.suggested_tickets
        feeds_pages.show feeds_pages.make mail_pages.log account_mail_pages.send_again
        notices_pages.show notices_pages.choose
        inbox_pages.all_seen bots_pages.index bots_pages.new bots_pages.create bots_pages.wording
        bots_pages.switch finding_pages.palette finding_pages.search
        projects_pages.index projects_pages.new projects_pages.create_project
        projects_pages.switch sticky_notes_pages.wall sticky_notes_pages.add_note
        tickets_pages.board_of_all tickets_pages.board_of_all_live tickets_pages.change
        tickets_pages.change_step tickets_pages.choose_columns
        tickets_pages.complete tickets_pages.create_ticket tickets_pages.export_all
        tickets_pages.matching tickets_pages.new tickets_pages.preview tickets_pages.quick_add
        tickets_pages.save_view tickets_pages.tickets_of_all tickets_pages.understood
        tickets_pages.due
        webhooks_pages.create webhooks_pages.index webhooks_pages.new
        integrations_pages.create integrations_pages.index integrations_pages.new
        wiki_pages.broken_links wiki_pages.complete wiki_pages.create_page wiki_pages.index
        wiki_pages.new wiki_pages.preview inbox_pages.inbox inbox_pages.read_all
        inbox_pages.header_status welcome_pages.start welcome_pages.make_project
        welcome_pages.people inbox_pages.newest accounts_pages.save_inbox
        welcome_pages.add_person welcome_pages.bot welcome_pages.make_bot
        welcome_pages.load_sample welcome_pages.remove_sample tickets_pages.bar
        accounts_pages.password accounts_pages.session_list accounts_pages.end_others
        accounts_pages.end help_pages.index help_pages.shortcuts help_pages.for_agents
        help_pages.design import_pages.import_page import_pages.try_or_import
        import_pages.report_of_file rewind_pages.show rewind_pages.rewind rewind_pages.step
        rewind_pages.put_back
        export_pages.export_page export_pages.download
    """),
    "project": (IN_PROJECT, """
        audit_pages.activity audit_pages.make_default audit_pages.of_project
        audit_pages.show_project projects_pages.add_label projects_pages.add_state
        project_settings_pages.delete projects_pages.delete_label projects_pages.delete_state
        project_settings_pages.general projects_pages.label_list projects_pages.move_state
        project_settings_pages.save_general projects_pages.save_label projects_pages.save_state
        project_settings_pages.settings projects_pages.state_list
        bots_pages.of_project bots_pages.change_in_project tickets_pages.merge_labels
        tickets_pages.replace_state tickets_pages.template_list tickets_pages.new_template
        tickets_pages.add_template tickets_pages.edit_template tickets_pages.save_template
        tickets_pages.delete_template
        sticky_notes_pages.wall sticky_notes_pages.add_note tickets_pages.board
        tickets_pages.board_live tickets_pages.export tickets_pages.show_epics
        tickets_pages.tickets wiki_pages.index wiki_pages.complete wiki_pages.new
        wiki_pages.create_page wiki_pages.preview
    """),
    "ticket": (ON_TICKET, """
        inbox_pages.hand_back inbox_pages.reply inbox_pages.show_sign_off
        inbox_pages.decide_sign_off audit_pages.of_ticket inbox_pages.read_ticket
        tickets_pages.add_child
        tickets_pages.add_comment tickets_pages.add_relation tickets_pages.choose
        tickets_pages.add_link tickets_pages.remove_link
        tickets_pages.choose_state tickets_pages.choose_watcher tickets_pages.confirm_delete
        tickets_pages.older_comments tickets_pages.parents tickets_pages.peek
        tickets_pages.delete tickets_pages.edit_field tickets_pages.live tickets_pages.move
        tickets_pages.pick tickets_pages.remove_relation tickets_pages.restore
        tickets_pages.save_field tickets_pages.short_address tickets_pages.show
        tickets_pages.show_change tickets_pages.show_parts tickets_pages.states_to_move_to
        tickets_pages.watch tickets_pages.mute inbox_pages.unread_ticket
        files_pages.of_ticket files_pages.add_to_ticket
    """),
    "comment": (ON_TICKET, """
        tickets_pages.comment_history tickets_pages.confirm_delete_comment
        tickets_pages.delete_comment tickets_pages.edit_comment tickets_pages.react
        tickets_pages.save_comment tickets_pages.show_comment
    """),
    "page": (ON_TICKET, """
        wiki_pages.confirm_delete wiki_pages.delete wiki_pages.diff wiki_pages.edit
        wiki_pages.history wiki_pages.restore wiki_pages.restore_page wiki_pages.revision
        wiki_pages.save wiki_pages.saved wiki_pages.show files_pages.of_page files_pages.add_to_page
    """),
    "file": (ON_TICKET, """
        files_pages.download files_pages.thumbnail files_pages.confirm_delete files_pages.delete
    """),
    "note": (("own", "other", "dead", "personal", "missing"), """
        sticky_notes_pages.ask sticky_notes_pages.confirm_delete sticky_notes_pages.convert
        sticky_notes_pages.delete sticky_notes_pages.edit sticky_notes_pages.save
        sticky_notes_pages.show
    """),
    "administered": (("own", "missing"), """
        integrations_pages.show integrations_pages.change integrations_pages.ask_to_delete
        integrations_pages.delete sign_on_pages.unlink
        sign_on_pages.unlink_all_of
        people_pages.set_active people_pages.issue_link people_pages.reset_second_factor
        feeds_pages.revoke passkey_pages.show passkey_pages.rename passkey_pages.remove
        audit_pages.bot_page audit_pages.change_settings
        audit_pages.first_call audit_pages.approve audit_pages.review audit_pages.show_event
        undo_pages.undo_event undo_pages.undo_request undo_pages.undo_request_step bots_pages.change
        bots_pages.release_ticket tickets_pages.delete_view
        tickets_pages.share_view webhooks_pages.act
        webhooks_pages.ask_to_delete webhooks_pages.change webhooks_pages.delete
        webhooks_pages.edit webhooks_pages.retry webhooks_pages.show webhooks_pages.show_delivery
    """),
}  # fmt: skip
# Names of variables in the world, and values of those that name nothing in it.
VARIABLES = {"reference": "display_id", "bot_id": "bot", "user_id": "user", "event_id": "event"}
VALUES = {
    "number": "1",
    "kind": "csv",
    "name": "assignee",
    "version": "x",
    "names": "x",
    "token": "x",
}
# Outcomes for people that differ from the policy: for ada and for bo, or for both.
LIKE_MISSING = dict.fromkeys(IN_PROJECT, "404") | dict.fromkeys(ON_TICKET, "404")
NOT_MINE = dict.fromkeys(("own", "other"), "ok 403")
EXCEPTIONS: dict[str, dict[str, str]] = {
    # Their names match nothing here: another request, a ticket not held, another's view, a change
    # of another ticket, a delivery of no webhook, a project or reaction that the form lacks.
    "POST undo_pages.undo_request": LIKE_MISSING,
    "POST undo_pages.undo_request_step": LIKE_MISSING,
    "POST bots_pages.release_ticket": LIKE_MISSING,
    "POST tickets_pages.delete_view": LIKE_MISSING,
    "POST feeds_pages.revoke": {"own": "ok 404"},
    "POST sign_on_pages.unlink": LIKE_MISSING,
    "GET passkey_pages.show": {"own": "ok 404"},
    "POST passkey_pages.rename": {"own": "ok 404"},
    "POST passkey_pages.remove": {"own": "ok 404"},
    # The form has no reaction.
    "POST tickets_pages.react": {"own": "404", "other": "404"},
    "POST tickets_pages.share_view": LIKE_MISSING,
    "GET tickets_pages.show_change": {"own": "404", "other": "404"},
    "POST webhooks_pages.retry": LIKE_MISSING,
    "GET tickets_pages.complete": LIKE_MISSING,
    "POST tickets_pages.create_ticket": LIKE_MISSING,
    "POST tickets_pages.preview": LIKE_MISSING,
    "POST tickets_pages.quick_add": LIKE_MISSING,
    "GET tickets_pages.understood": LIKE_MISSING,
    # A form without a known action is refused before any lookup.
    "POST bots_pages.change": {"missing": "ok"},
    "POST webhooks_pages.act": {"missing": "ok"},
    # These redirect to an address that is tested itself.
    "GET project_settings_pages.settings": {"dead": "ok", "missing": "ok"},
    "GET ": {"dead": "ok", "missing": "ok"},
    "GET tickets_pages.short_address": {"deleted": "ok", "dead": "ok", "missing": "ok"},
    # An open page learns that its ticket was deleted, and offers to restore it.
    "GET tickets_pages.live": {"deleted": "ok", "dead": "ok"},
    "POST tickets_pages.restore": {"deleted": "ok"},
    # Events from before the deletion of a ticket can still be marked as read.
    "POST inbox_pages.read_ticket": {"deleted": "ok", "dead": "ok"},
    "POST inbox_pages.unread_ticket": {"deleted": "ok", "dead": "ok"},
    # Only its author edits a comment.
    "GET tickets_pages.edit_comment": NOT_MINE,
    "POST tickets_pages.save_comment": NOT_MINE,
    # A missing or deleted page is offered as a new one.
    "GET wiki_pages.edit": {"deleted": "ok", "missing": "ok"},
    # An open editor learns that its page was deleted.
    "GET wiki_pages.saved": {"deleted": "ok"},
    "POST wiki_pages.restore_page": {"deleted": "ok"},
}


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The world with an unreachable identity provider, so that the pages of sign-on exist."""
    monkeypatch.setitem(vars(world.app.config["SETTINGS"]), "oidc_issuer", "http://127.0.0.1:9")
    return world


def subjects(rule: Rule) -> list[str]:
    """The kinds of subject under which the table lists this page."""
    return [name for name, (_, pages) in SUBJECTS.items() if rule.endpoint in pages.split()]


def subject(rule: Rule) -> str:
    """The subject of the page at this address."""
    named = subjects(rule)
    if len(named) == 2:
        # The same view serves all projects and a single one.
        return "project" if "key" in rule.arguments else "everything"
    if rule.endpoint.startswith("wiki_pages") and named == ["page"]:
        return "page" if "key" in rule.arguments else "global page"
    return named[0]


def pictured(app: Flask) -> set[str]:
    """The views of the pages that ``make screenshots`` opens by their address."""
    adapter = app.url_map.bind("localhost")
    paths = [re.sub(r"{[^}]+}", ids.new_id(), path.split("?")[0]) for path in PAGES.values()]
    return {str(adapter.match(path)[0]) for path in paths if path != PAGES["error"]}


def rules(app: Flask) -> list[Rule]:
    """All routes of pages."""
    return [rule for rule in app.url_map.iter_rules() if not rule.endpoint.startswith("api.")]


def address(world: World, rule: Rule, place: str) -> str:
    """The page's address at a place."""

    def named(found: re.Match[str]) -> str:
        variable = found[1].rpartition(":")[2]
        if variable in VALUES:
            return VALUES[variable]
        name = VARIABLES.get(variable, variable.removesuffix("_id"))
        if rule.endpoint.startswith("wiki_pages") and variable == "reference":
            name = "slug"
        things = world.places[place]
        if name == "key" and "key" not in things:
            things = world.places[{"deleted": "own"}.get(place, place)]
        if name == "key" and "reference" in rule.arguments and place == "missing":
            # A missing page, in an existing project.
            things = world.places["own"]
        return things.get(name) or world.places["missing"].get(name, "nobody")

    return re.sub(r"<([^>]+)>", named, rule.rule)


def kind_of(response: Any) -> str:
    if response.status_code == 401 or "/login" in response.headers.get("Location", ""):
        return "login"
    if response.status_code in (403, 404, 410):
        return str(response.status_code)
    assert response.status_code < 500, response.text
    return "ok"


def expected_of(rule: Rule, method: str, actor: str, place: str) -> str:
    """The outcome that this actor must get on this page."""
    if actor not in PEOPLE:
        return "login"
    exception = EXCEPTIONS.get(f"{method} {rule.endpoint}", {}).get(place)
    if exception is not None:
        return exception.split()[-1 if actor == "bo" else 0]
    found = outcome("H", actor, place)
    return "ok" if found is None else str(found[0])


def cases(app: Flask) -> Iterator[tuple[Rule, str, str, str]]:
    """Yield each page, method and place for everyone; strangers get the same response anywhere.

    PostgreSQL is tested with ada, and with bo where his outcome differs: strangers get no further
    than their credentials, and the same statements run for both people.
    """
    on_sqlite = app.config["SETTINGS"].is_sqlite
    for rule in rules(app):
        what = subject(rule)
        if what == "public":
            continue
        places = ("global", "missing") if what == "global page" else SUBJECTS[what][0]
        for method in sorted(rule.methods & {"GET", "POST"}):
            for place in places:
                yield rule, method, "ada", place
                met = {expected_of(rule, method, actor, place) for actor in PEOPLE}
                if on_sqlite or len(met) > 1:
                    yield rule, method, "bo", place
            for actor in STRANGERS if on_sqlite else ():
                yield rule, method, actor, places[0]
            if on_sqlite:
                yield rule, method, "nobody", places[-1]


def test_every_page_at_every_place_by_everyone(world):
    wrong, whole = [], set()
    for rule, method, actor, place in cases(world.app):
        caller = world.callers[actor]
        if caller.session_token:
            caller.client.set_cookie("app_session", caller.session_token)
        path = address(world, rule, place)
        response = caller.client.open(path, method=method, headers=PAGE | caller.headers)
        world.look_for_leaks(actor, rule.endpoint, response, path)
        is_shown = (method, actor, response.status_code) == ("GET", "ada", 200)
        if is_shown and b"<html" in response.data:
            whole.add(rule.endpoint)
        expected = expected_of(rule, method, actor, place)
        if kind_of(response) != expected:
            wrong.append((method, rule.endpoint, actor, place, kind_of(response), expected))
    found = [*wrong, *world.leaks]
    assert not found, "\n".join(map(str, found))
    # Pages with a picture are judged by axe and looked at by people.
    assert whole - pictured(world.app) == LOOKED_AT_ELSEWHERE


def test_the_policy_names_every_page(app):
    assert [rule.endpoint for rule in rules(app) if not subjects(rule)] == []
    assert {name for _, pages in SUBJECTS.values() for name in pages.split()} <= {
        rule.endpoint for rule in rules(app)
    }
