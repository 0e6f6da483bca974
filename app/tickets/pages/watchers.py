"""Watchers on the ticket page."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.database.session import reading
from app.tickets import page_queries, watchers
from app.tickets.board_sidebar import all_users
from app.tickets.pages import show
from app.tickets.pages.blueprint import pages, user_options
from app.web.forms import Form, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page, render


@pages.get("/tickets/<reference>/watchers/new")
def choose_watcher(reference: str) -> Response:
    """Ask who is to watch."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        users = user_options(all_users(), subject.project["id"])
    context: dict[str, Any] = {
        "project": subject.project,
        "ticket": subject.ticket,
        "users": users,
        "watcher_form": None,
    }
    if is_htmx():
        return html(render("tickets/_watcher_form.html", **context))
    return page("tickets/watcher_new.html", **context)


@pages.post("/tickets/<reference>/watch")
def watch(reference: str) -> Response:
    """Watch, stop watching, or do so for someone else."""
    form = Form(raw=request.form.copy(), shown=frozenset({"user_id"}))
    user_id = form.value("user_id") or actor().id

    def work(present: Actor) -> None:
        if form.value("watch") == "no":
            watchers.remove_watcher(present, reference, user_id)
        else:
            watchers.add_watcher(present, reference, user_id=user_id)

    submit(form, work)
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        shown = show.fragment(
            "tickets/_watchers.html",
            subject,
            watchers=subject.watchers,
            watching=any(row["user_id"] == actor().id for row in subject.watchers),
            watcher_form=form if form.errors else None,
            users=user_options(all_users(), subject.project["id"]) if form.errors else [],
        )
        shown += show.new_events(subject)
    return html(shown, 422 if form.errors else 200)
