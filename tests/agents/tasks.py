"""Fifteen tasks of a working agent, each as the calls that a careful agent makes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from tests.agents.desk import Cost, Desk, Hand

REPORT = (
    "Since Monday it takes minutes until anything happens. I tried it from two rooms, with the "
    "same result. The log says `queue full`, and a restart helps for an hour. Nobody else has "
    "touched the machine, and the network is fine."
)


@dataclass(frozen=True)
class Task:
    """One task: its words in the guide, and a function that performs it and checks the outcome."""

    words: str
    act: Callable[[Desk, Hand], Awaitable[None]]


async def triage(desk: Desk, hand: Hand) -> None:
    for number in range(10):
        about = ("mail", "printer")[number % 2]
        desk.ticket(f"The {about} in room {number} is slow", body=REPORT)
    listed = await hand(
        "list_tickets", project="OPS", state="Backlog", assignee="none", limit=10, include_body=True
    )
    for row in listed["data"]:
        about = "mail" if "mail" in row["title"] else "printer"
        await hand(
            "update_ticket",
            ticket=row["display_id"],
            priority="high" if "queue full" in row["body"] else "low",
            add_labels=["bug", about],
        )
    rows = desk.look(f"/projects/{desk.ops}/tickets?priority=high")["data"]
    assert len(rows) == 10
    assert all(len(row["labels"]) == 2 for row in rows)


async def duplicates(desk: Desk, hand: Hand) -> None:
    first = desk.ticket("Scanner stops after two pages", body=REPORT)["display_id"]
    made = await hand("create_ticket", project="OPS", title="The scanner stops after each page")
    assert [row["display_id"] for row in made["similar"]] == [first]
    new = made["display_id"]
    await hand("add_ticket_relation", ticket=new, type="duplicates", target=first)
    await hand("transition_ticket", ticket=new, state="Done", comment=f"The same as {first}.")
    (relation,) = desk.look(f"/tickets/{first}/relations")["data"]
    assert relation["ticket"]["display_id"] == new


async def plan(desk: Desk, hand: Hand) -> None:
    await hand("get_project", project="OPS")
    made = await hand(
        "create_ticket",
        project="OPS",
        type="epic",
        title="Replace the certificates",
        body="All of them end on 30 November.",
        children=[
            {"title": "List all hosts", "relations": [{"type": "blocks", "target": "children[1]"}]},
            {
                "title": "Order new certificates",
                "relations": [{"type": "blocks", "target": "children[2]"}],
            },
            {
                "title": "Install them",
                "priority": "high",
                "relations": [{"type": "blocks", "target": "children[3]"}],
            },
            {"title": "Watch the dates", "labels": ["mail"]},
        ],
    )
    assert len(made["children"]) == 4
    last = made["children"][3]["display_id"]
    (relation,) = desk.look(f"/tickets/{last}/relations")["data"]
    assert (relation["type"], relation["direction"]) == ("blocks", "incoming")


async def write_page(desk: Desk, hand: Hand) -> None:
    desk.page("Hosts", "All hosts and who looks after them.")
    named = desk.ticket("Rotate the keys of all hosts")["display_id"]
    await hand("search", q="hosts", type="wiki_page", limit=5)
    made = await hand(
        "create_wiki_page",
        project="OPS",
        title="Rotating keys",
        body=f"First look at [[hosts]]. The work is in [[ticket:{named}]]. See [[keys]], too.",
    )
    assert made["broken_links"] == ["keys"]
    (link,) = desk.look(f"/wiki/pages/{desk.look('/wiki/pages/hosts')['id']}/backlinks")["data"]
    assert link["slug"] == "rotating-keys"


async def hand_over(desk: Desk, hand: Hand) -> None:
    named = desk.ticket("Change the toner", assignee_user_id=desk.bots["smith"].id)["display_id"]
    await hand(
        "transition_ticket",
        ticket=named,
        state="In review",
        comment="The toner is new. Please print a page to see whether it is dark enough.",
        assignee="ada",
    )
    shown = desk.look(f"/tickets/{named}")
    assert (shown["state"]["name"], shown["assignee"]["username"]) == ("In review", "ada")


async def resume(desk: Desk, hand: Hand) -> None:
    mine = {"assignee_user_id": desk.bots["smith"].id}
    named = desk.ticket("Move the mail to the new host", body=REPORT, **mine)["display_id"]
    async with desk.hand("smith", Cost()) as before:
        await before("transition_ticket", ticket=named, state="In progress", comment="Copied half.")
    listed = await hand("list_tickets", assignee="me", state_category="open", sort="active")
    assert listed["data"][0]["display_id"] == named
    assert (await hand("get_ticket", ticket=named))["state"] == "In progress"
    said = await hand("list_comments", ticket=named)
    assert said["data"][-1]["body"] == "Copied half."


async def changes(desk: Desk, hand: Hand) -> None:
    named = desk.ticket("Paint the server room")["display_id"]
    desk.owner.call("PATCH", f"/tickets/{named}", {"priority": "urgent"})
    yesterday = desk.look(f"/tickets/{named}")["created_at"][:10]
    listed = await hand(
        "list_tickets", project="OPS", updated_since=yesterday, sort="active", limit=10
    )
    assert listed["data"][0]["display_id"] == named
    shown = await hand("get_ticket", ticket=named, history=True, since=yesterday)
    (change,) = shown["history"][0]["changes"]
    assert change == {"field": "priority", "from": "medium", "to": "urgent"}


async def undo(desk: Desk, hand: Hand) -> None:
    named = desk.ticket("Order paper", body=REPORT)["display_id"]
    wrong = await hand("update_ticket", ticket=named, body="Order pens", priority="low")
    (event,) = wrong["event_ids"]
    assert (await hand("update_ticket", ticket=named, undo=event))["undone"]
    shown = desk.look(f"/tickets/{named}")
    assert (shown["body"], shown["priority"]) == (REPORT, "medium")


async def count(desk: Desk, hand: Hand) -> None:
    counted = await hand(
        "list_tickets", project="OPS", labels=["bug"], state_category="open", count_by="priority"
    )
    assert counted["counts"] == {"high": 10}


async def two_bots(desk: Desk, hand: Hand) -> None:
    named = desk.ticket("The printer prints mail twice")["display_id"]
    async with desk.hand("wright", hand.cost) as other, anyio.create_task_group() as both:
        for bot, label in ((hand, "mail"), (other, "printer")):
            both.start_soon(_label, bot, named, label)
    labels = desk.look(f"/tickets/{named}")["labels"]
    assert [label["name"] for label in labels] == ["mail", "printer"]


async def _label(hand: Hand, ticket: str, label: str) -> None:
    await hand("update_ticket", ticket=ticket, add_labels=[label])


async def take_over(desk: Desk, hand: Hand) -> None:
    named = desk.imported(desk.ticket("Count the cables", body=REPORT), "wright")
    (row,) = (await hand("list_tickets", stalled=True))["data"]
    assert (row["display_id"], row["assignee"]) == (named, "wright")
    await hand("update_ticket", ticket=named, assignee="me", expected_assignee=row["assignee"])
    assert (await hand("get_ticket", ticket=named))["assignee"] == "smith"


async def sentence(desk: Desk, hand: Hand) -> None:
    desk.page("Mail server", "Its certificate is renewed in November, by the script in /etc/renew.")
    found = await hand("search", q="How do I renew the certificate that the mail server has?")
    best = next(row for row in found["data"] if row["type"] == "wiki_page")
    shown = await hand("get_wiki_page", page=best["slug"])
    assert "/etc/renew" in shown["body"]


async def old_text(desk: Desk, hand: Hand) -> None:
    made = desk.page("Opening hours", "We open at eight.")
    desk.owner.call("PATCH", f"/wiki/pages/{made['id']}", {"body": "We open at nine."})
    listed = await hand("list_wiki_revisions", page="opening-hours")
    assert [row["revision_number"] for row in listed["data"]] == [2, 1]
    shown = await hand("get_wiki_page", page="opening-hours", revision=1)
    assert shown["body"] == "We open at eight."


async def wait(desk: Desk, hand: Hand) -> None:
    named = desk.ticket("Choose a color", assignee_user_id=desk.bots["smith"].id)["display_id"]
    async with desk.hand("smith", Cost()) as before:
        while (await before("get_self")).get("news"):
            pass
    await hand("add_comment", ticket=named, body="@ada Which color shall it have?")
    async with anyio.create_task_group() as both:
        both.start_soon(_answer, desk, named)
        (news,) = (await hand("get_self", wait=20))["news"]
    assert (news["ticket"], news["who"], news["comment"]) == (named, "ada", "Green.")


async def _answer(desk: Desk, ticket: str) -> None:
    await anyio.sleep(0.5)
    await anyio.to_thread.run_sync(desk.comment, ticket, "Green.")


async def sign_off(desk: Desk, hand: Hand) -> None:
    states = desk.look(f"/projects/{desk.ops}/workflow-states")["data"]
    by_name = {state["name"]: state["id"] for state in states}
    review = {"sign_off": True, "review_state_id": by_name["In review"]}
    desk.owner.call("PATCH", f"/projects/{desk.ops}", review)
    named = desk.ticket("Test the backup", assignee_user_id=desk.bots["smith"].id)["display_id"]
    done = {"ticket": named, "state": "Done"}
    assert (await hand.client.call_tool("transition_ticket", done)).is_error
    shown = await hand("get_ticket", ticket=named)
    await hand(
        "transition_ticket",
        ticket=named,
        state=shown["review_state"],
        comment="Restored it on another host: all rows are there.",
    )
    desk.owner.call("POST", f"/tickets/{named}/transition", {"state_id": by_name["Done"]})
    assert desk.look(f"/tickets/{named}")["state"]["name"] == "Done"
    desk.owner.call("PATCH", f"/projects/{desk.ops}", {"sign_off": False})


TASKS = (
    Task("Triage ten tickets", triage),
    Task("Find duplicates", duplicates),
    Task("Plan an epic", plan),
    Task("Write a linked page", write_page),
    Task("Hand over", hand_over),
    Task("Resume after a crash", resume),
    Task("What changed since yesterday", changes),
    Task("Undo an own mistake", undo),
    Task("Count bugs", count),
    Task("Two bots, one ticket’s labels", two_bots),
    Task("Wait for an answer", wait),
    Task("Take over a stalled ticket", take_over),
    Task("Search with a sentence", sentence),
    Task("Read an old text", old_text),
    Task("Finish with a person’s sign-off", sign_off),
)
