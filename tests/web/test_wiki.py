"""The pages of the wiki, without a browser."""

import re
from html import unescape
from types import SimpleNamespace

from app.core.actor import Actor, ActorKind
from app.projects import service as projects
from app.wiki import service as wiki
from app.wiki.pages.index import grow
from app.wiki.slug_resolution import PLACES
from tests.support.cast import in_app
from tests.support.story import events, ok
from tests.web.wiki_on_page import WIKI, field


def test_reading_shows_who_wrote_it_and_what_links_here(ada, cast, guide):
    cast.ada.post(
        "/wiki/pages",
        {"title": "Home", "body": "See [[set-up]].", "project_id": cast.open_project},
    )
    text = ada.get(f"{WIKI}/set-up").text
    assert 'id="wiki-title" tabindex="-1">Setting up</h1>' in text
    assert "Edited by Ada" in text
    assert f'<a href="{WIKI}/home">Home</a>' in text
    assert f'href="{WIKI}/set-up/history">3 revisions</a>' in text


def test_what_is_written_is_never_markup(ada, cast):
    evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    cast.ada.post("/wiki/pages", {"title": evil, "slug": "evil", "body": evil})
    for path in (
        "/wiki",
        "/wiki?view=title",
        "/wiki/evil",
        "/wiki/evil/edit",
        "/wiki/evil/history",
        "/wiki/evil/history/1",
        "/wiki/evil/history/1?as=source",
        "/wiki/evil/diff",
        "/wiki/evil/delete",
    ):
        text = ada.get(path).text
        assert "<script>alert" not in text, path
        assert "<img src=x" not in text, path


def test_a_page_of_the_same_name_elsewhere_is_named(ada, cast, guide):
    cast.ada.post("/wiki/pages", {"title": "Set up"})
    assert (
        'Another page with this name in Open project: <a href="/projects/OPEN/wiki/set-up">'
        in ada.get("/wiki/set-up").text
    )
    assert '<a href="/wiki/set-up">' in ada.get(f"{WIKI}/set-up").text


def test_a_page_is_found_however_many_have_its_name(ada, cast):
    """Each project has its own "home", and at most PLACES others are listed."""
    oldest = {"/wiki": None, "/projects/OPEN/wiki": cast.open_project}
    for base, project in oldest.items():
        page = {"title": "Home", "body": f"The one of {base}", "project_id": project}
        ok(cast.ada.post("/wiki/pages", page), 201)
    actor = Actor(ActorKind.HUMAN, cast.ada.user_id, "ada", "Ada")

    def make_others():
        for number in range(PLACES + 1):
            other = projects.create_project(actor, key=f"P{number}", name=f"Project {number}")
            wiki.create_page(actor, title="Home", body="Another", project_id=other.id)

    in_app(cast.ada.client.application, make_others)
    for base in oldest:
        assert f"The one of {base}" in ada.get(f"{base}/home").text
        assert f"The one of {base}" in ada.get(f"{base}/home/edit").text
        assert ada.get(f"{base}/home/history").status_code == 200


def test_a_page_that_is_not_there_can_be_written(ada, guide):
    answer = ada.get("/wiki/release-notes")
    assert answer.status_code == 404
    assert 'href="/wiki/release-notes/edit"' in answer.text
    form = ada.get("/wiki/release-notes/edit").text
    assert 'value="release-notes"' in form
    assert 'value="Release notes"' in form
    other = ada.get("/wiki/set-up")
    assert other.status_code == 404
    assert "Found in Open project" in other.text


def test_what_is_no_name_of_a_page_is_just_not_there(ada, guide):
    assert "Page not found" in ada.get("/wiki/Not_a_slug").text
    assert ada.get("/wiki/Not_a_slug/edit").status_code == 404
    assert ada.get("/projects/NOPE/wiki").status_code == 404
    assert ada.get(f"/wiki/{guide['id']}").status_code == 404
    assert ada.get(f"{WIKI}/{guide['id']}").status_code == 200


def test_a_deleted_page_says_so_and_can_be_begun_anew(ada, cast, guide):
    etag = field(ada.get(f"{WIKI}/set-up/delete").text, "etag")
    assert ada.post(f"{WIKI}/set-up/delete", etag=etag).location == WIKI
    gone = ada.get(f"{WIKI}/set-up")
    assert gone.status_code == 410
    assert "This page was deleted" in gone.text
    made = ada.post(f"{WIKI}/new", title="Anew", slug="set-up", body="New text")
    assert made.location == f"{WIKI}/set-up"
    assert ada.get(made.location).status_code == 200


def test_a_deleted_page_is_restored_from_its_place(ada, cast, guide):
    cast.bo.delete(f"/wiki/pages/{guide['id']}")
    gone = ada.get(f"{WIKI}/set-up").text
    assert re.search(r"Bo\s+deleted “Setting up”", gone)
    address = re.search(r'action="([^"]*/restore)"', gone).group(1)
    # The second one finds the page restored.
    for _ in range(2):
        assert ada.post(address).location == f"{WIKI}/set-up"
    assert cast.ada.get(f"/wiki/pages/{guide['id']}").json["title"] == "Setting up"
    assert ada.post(f"{WIKI}/{guide['id'][:-4]}0000/restore").status_code == 404


def test_a_page_is_not_restored_over_another_one(ada, cast, guide):
    cast.bo.delete(f"/wiki/pages/{guide['id']}")
    ada.post(f"{WIKI}/new", title="Anew", slug="set-up", body="New text")
    refused = ada.post(f"{WIKI}/{guide['id']}/restore")
    assert refused.status_code == 409
    assert "Another page has the slug set-up." in refused.text


def test_deleting_says_how_many_links_break(ada, cast, guide):
    for title in ("One", "Two"):
        cast.ada.post(
            "/wiki/pages",
            {"title": title, "body": "[[set-up]]", "project_id": cast.open_project},
        )
    assert "2 pages link to it" in ada.get(f"{WIKI}/set-up/delete").text


def test_a_page_that_changed_meanwhile_is_not_deleted(ada, cast, guide):
    etag = field(ada.get(f"{WIKI}/set-up/delete").text, "etag")
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"body": "Changed"})
    origin = {"Referer": f"http://localhost{WIKI}/set-up?view=a"}
    refused = ada.post(f"{WIKI}/set-up/delete", etag=etag, headers=origin)
    assert refused.status_code == 409
    assert f'href="{WIKI}/set-up?view=a">Go back to the page</a>' in refused.text
    only_posted = "http://localhost/projects/OPEN/settings/delete"
    nowhere = ("https://example.org/", "http://localhost//example.org", "x", "http://[", "")
    for elsewhere in (*nowhere, only_posted):
        refused = ada.post(f"{WIKI}/set-up/delete", etag=etag, headers={"Referer": elsewhere})
        assert refused.status_code == 409
        assert "Go back to the page" not in refused.text
        assert re.search(r'class="button primary" href="/">Go', refused.text)
    assert ada.get(f"{WIKI}/set-up").status_code == 200


def test_broken_links_name_their_pages(ada, cast, guide):
    assert "No broken links" in ada.get("/wiki/broken-links").text
    cast.ada.post("/wiki/pages", {"title": "A", "body": "[[gone]] [[new]]"})
    cast.ada.post(
        "/wiki/pages", {"title": "B", "body": "[[gone]]", "project_id": cast.open_project}
    )
    text = ada.get("/wiki/broken-links").text
    assert 'href="/wiki/gone/edit"' in text
    assert f'href="{WIKI}/gone/edit"' in text
    assert f'<a href="{WIKI}/b">B</a>' in text
    assert ada.get("/wiki/new/edit").status_code == 200
    assert ada.get("/wiki/broken-links?cursor=nonsense").location == "/wiki/broken-links"


def test_an_open_editor_learns_that_someone_saved(ada, cast, guide):
    form = ada.get(f"{WIKI}/set-up/edit").text
    asks = re.compile(r'id="live"[^>]*hx-get="([^"]*)"')
    address = unescape(asks.search(form).group(1))
    with ada.statements() as seen:
        assert ada.get(address, htmx=True).status_code == 204
    assert not [one for one in seen if "body" in one]
    cast.smith.patch(f"/wiki/pages/{guide['id']}", {"body": "By a bot"})
    told = ada.get(address, htmx=True).text
    assert "<strong>Smith</strong>" in told
    assert '<span class="badge">bot</span> saved this page' in told
    diff = unescape(re.search(r'href="([^"]*/diff[^"]*)"', told).group(1))
    assert "By a bot" in ada.get(diff).text
    # Each revision is announced once, with a link to all changes since the editor was opened.
    again = unescape(asks.search(told).group(1))
    assert ada.get(again, htmx=True).status_code == 204
    cast.bo.patch(f"/wiki/pages/{guide['id']}", {"body": "By Bo"})
    assert "diff?from=3&amp;to=5" in ada.get(again, htmx=True).text
    cast.bo.delete(f"/wiki/pages/{guide['id']}")
    gone = ada.get(again, htmx=True).text
    assert "This page was deleted" in gone
    assert "hx-get" not in gone
    assert "base=x" not in ada.get(f"{WIKI}/set-up/saved?base=x&since=x", htmx=True).text


def test_a_slip_in_a_name_is_met_with_the_page_that_was_meant(ada, cast, guide):
    cast.ada.post("/wiki/pages", {"title": "Setups", "body": "See [[set-upp]]."})
    body = {"title": "Links", "body": "[[setups-x]] [[set-upp]]", "project_id": cast.open_project}
    cast.ada.post("/wiki/pages", body)
    own = f'<a href="{WIKI}/set-up"><code>set-up</code></a>'
    common = '<a href="/wiki/setups"><code>setups</code></a>'
    assert f"Did you mean {own} or {common}?" in " ".join(ada.get(f"{WIKI}/set-upp").text.split())
    assert own in ada.get(f"{WIKI}/set-upp/edit").text
    missing = ada.get("/wiki/set-upp").text
    assert common in missing
    assert own not in missing
    text = ada.get("/wiki/broken-links").text
    assert (text.count(own), text.count("Did you mean")) == (1, 3)
    assert "Did you mean" not in ada.get(f"{WIKI}/entirely-else").text
    assert "Did you mean" not in ada.get(f"{WIKI}/new").text


def test_the_index_in_its_orders(ada, cast, guide):
    for title, body in (("Alpha", "[[beta]]"), ("beta", ""), ("Gamma", "")):
        cast.ada.post("/wiki/pages", {"title": title, "body": body})
    names = re.compile(r'stretched" href="[^"]*">([^<]*)<')
    assert names.findall(ada.get("/wiki?view=title").text) == ["Alpha", "beta", "Gamma"]
    assert names.findall(ada.get("/wiki?view=recent").text) == ["Gamma", "beta", "Alpha"]
    assert names.findall(ada.get("/wiki?view=orphans").text) == ["Alpha", "Gamma"]
    assert "Alpha" in ada.get("/wiki?view=nonsense").text
    assert "Setting up" not in ada.get("/wiki").text
    assert "Setting up" in ada.get(WIKI).text


def test_the_tree_groups_slugs_that_begin_alike():
    pages = [
        SimpleNamespace(slug=slug, title=slug.title())
        for slug in ("guide", "guide-setup", "api-a", "api-b", "api-c-d", "how-to-x", "how-to-y")
    ]
    shown = [(one.name, [below.name for below in one.children]) for one in grow(pages)]
    assert shown == [
        ("Api", ["Api-A", "Api-B", "Api-C-D"]),
        ("Guide", ["Guide-Setup"]),
        ("How-To-X", []),
        ("How-To-Y", []),
    ]


def test_completion_offers_pages_of_the_project_before_global_ones(ada, cast, guide):
    cast.ada.post("/wiki/pages", {"title": "Set up everything", "slug": "set-up"})
    cast.ada.post("/wiki/pages", {"title": "A setting", "slug": "else"})
    found = ada.get(f"{WIKI}/complete?q=sett").json
    assert [(one["insert"], one["note"]) for one in found] == [("set-up", ""), ("else", "global")]
    assert ada.get("/wiki/complete?q=SET UP").json == [
        {"insert": "set-up", "title": "Set up everything", "note": ""}
    ]
    assert len(ada.get(f"{WIKI}/complete?q=").json) == 2
    cast.ada.post("/wiki/pages", {"title": "Übersicht", "slug": "overview"})
    assert ada.get("/wiki/complete?q=übers").json[0]["insert"] == "overview"
    cast.ada.post("/wiki/pages", {"title": "ΟΔΟΣ in İstanbul", "slug": "street"})
    for typed in ("ΟΔΟΣ", "İstanbul"):
        assert ada.get(f"/wiki/complete?q={typed}").json[0]["insert"] == "street"
    assert ada.get("/wiki/complete?q=100%25_").json == []


def test_completion_of_tickets(ada, ticket):
    found = ada.get("/wiki/complete?q=ticket:open-1").json
    assert found == [{"insert": "ticket:OPEN-1", "title": "A <i>ticket</i>", "note": "ticket"}]
    assert ada.get("/wiki/complete?q=ticket:part").json[0]["insert"] == "ticket:OPEN-2"


def test_the_preview_is_a_fragment(ada):
    answer = ada.post("/wiki/preview", htmx=True, body="Some words")
    assert answer.status_code == 200
    assert "Some words" in answer.text
    assert "<html" not in answer.text


def test_strangers_see_no_wiki(stranger, guide):
    assert stranger.get("/wiki").location == "/login?next=/wiki"
    assert stranger.get("/wiki/complete?q=a").status_code == 303
    assert stranger.post("/wiki/preview", body="x").status_code in (303, 401)


def test_pages_record_nothing_by_being_read(ada, guide, app):
    before = len(events(app))
    ada.get(f"{WIKI}/set-up")
    ada.get(WIKI)
    assert len(events(app)) == before


def test_a_page_shows_where_it_leads_and_what_is_said_of_it(ada, cast, ticket, guide):
    body = "Begin with [[set-up|the set-up]] & <b>OPEN-1</b>. Then [[nowhere]]; UTF-8."
    made = {"title": "Home", "body": body, "project_id": cast.open_project}
    cast.ada.post("/wiki/pages", made)
    text = ada.get(f"{WIKI}/set-up").text
    assert "Begin with <mark>the set-up</mark> &amp; &lt;b&gt;OPEN-1&lt;/b&gt;." in text
    side = ada.get(f"{WIKI}/home").text.split('id="outgoing-title"')[1].split("</section>")[0]
    assert f'<a href="{WIKI}/set-up">' in side
    assert f'<a href="{WIKI}/nowhere/edit" class="is-broken">nowhere</a>' in side
    assert '<a href="/tickets/OPEN-1">A &lt;i&gt;ticket&lt;/i&gt;</a>' in side
    assert "UTF-8" not in side
    assert 'id="outgoing-title"' not in ada.get(f"{WIKI}/set-up").text


def test_the_index_says_who_changed_each_page_and_when(ada, cast):
    cast.smith.post("/wiki/pages", {"title": "By Smith", "project_id": cast.open_project})
    text = ada.get(WIKI).text
    row = text[text.index(">By Smith</a>") :]
    assert "Smith · <time" in row[: row.index("</li>")]


def test_the_tree_beside_a_page_marks_it(ada, cast):
    made = [
        cast.ada.post("/wiki/pages", {"title": title, "project_id": cast.open_project}).json
        for title in ("One", "Two")
    ]
    text = ada.get(f"{WIKI}/one").text
    assert f'hx-get="{WIKI}?at={made[0]["id"]}"' in text
    # Without scripts, a link leads to the index.
    assert f'<a href="{WIKI}">All pages</a></nav>' in text
    tree = ada.get(f"{WIKI}?at={made[0]['id']}", htmx=True).text
    assert f'<a href="{WIKI}/one" aria-current="page">One</a>' in tree
    assert f'<a href="{WIKI}/two">Two</a>' in tree
    assert "<time" not in tree
