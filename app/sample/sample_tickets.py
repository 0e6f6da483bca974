"""The pages, notes, labels and tickets of the sample project, tickets in the order of numbers.

In texts, SAMPLE stands for the project's key and PERSON for the person who loads it.
"""

from dataclasses import dataclass

WELCOME = """\
This is the wiki of the sample project. Its pages explain what Docket can do, and its tickets are
for trying it out.

## Where to start

- [[ticket:SAMPLE-5]] shows what to look at first.
- [[working]] covers tickets: states, subtasks and blockers.
- [[undo]] explains how to undo anything, including what a bot did.
- [[agents]] has the house rules that every bot here reads.
- [[keys]] lists useful keyboard shortcuts.
- [[writing]] shows how to format text.

## Who is here

You and two bots. *Sample writer* works on tickets and writes pages. *Sample checker* reviews its
work. Both used the same tools that your own bots will use, so the history you see is real.

## When you are done

You can remove this project with one click on its overview. The two bots are deactivated too. The
audit log keeps its record, as always.
"""

WORKING = """\
A ticket is an **epic**, a **story** or a **subtask**. Stories can belong to an epic, and subtasks
belong to a story.

| To… | Do this |
| --- | --- |
| Move it | Drag its card, or press `m` |
| Assign it | Press `a`, or `i` to assign it to yourself |
| Mark it as blocked | Add a relation: blocked by another ticket |
| See its progress | Look at the bar on its card |

A ticket's state is one of the project's columns. There are three kinds of state: backlog, active
and done. Reports and boards across projects use these kinds.

[[ticket:SAMPLE-12]] has subtasks, [[ticket:SAMPLE-16]] is blocked by [[ticket:SAMPLE-17]], and
[[ticket:SAMPLE-18]] is overdue. If you change one of them by mistake, see [[undo]].
"""

AGENTS = """\
Every bot reads this page before it works here. Write what a new colleague would need to know.

1. **Claim before you work.** Assign the ticket to yourself if nobody has it.
2. **Say what you did** in a comment when you move a ticket.
3. **Ask, don't guess.** Put the question in a comment, mention the person, and assign the ticket
   to them.
4. **Keep changes small.** Edit a text instead of rewriting it, so that people can review the
   changes.
5. Leave [[welcome]] to people.

An `agents` page in the workspace wiki applies to all projects. [[undo]] explains what people can do
when a bot breaks a rule.
"""

WRITING = """\
Text is Markdown. Use the toolbar, or type `[[` to link to a page.

## What you can use

- **bold**, *italic*, ~~strikethrough~~ and `code`
- links to pages, such as [[welcome]], and to tickets, such as [[ticket:SAMPLE-20]] or just
  SAMPLE-21
- links to pages that don't exist yet, such as [[a-page-nobody-wrote-yet]]; open one to create it
- tables, task lists and code blocks

```python
def greet(name: str) -> str:
    return f"Hello, {name}"
```

> This is a quote.

Every save creates a revision, and you can compare any two. [[working]] covers tickets, [[keys]] the
keyboard shortcuts.
"""

# Slug, title, body.
PAGES = (
    ("welcome", "Welcome", WELCOME),
    ("working", "Working with tickets", WORKING),
    ("agents", "House rules for bots", AGENTS),
    ("writing", "Writing pages", WRITING),
)

NOTES = (
    ("**Notes** are for ideas that are not tickets yet. Press `n` to add one.", "#fde68a"),
    ("Ask the team: which project do we import first?", "#bfdbfe"),
    ("Idea: one epic a month, with a wiki page to sum it up.", "#bbf7d0"),
    ("You can convert a note to a ticket: select *Convert*.", "#fbcfe8"),
)


LABELS = (
    ("start here", "#1f883d"),
    ("try it", "#0969da"),
    ("bots", "#8250df"),
    ("wiki", "#9a6700"),
    ("bug", "#d1242f"),
)


@dataclass(frozen=True, slots=True)
class SampleTicket:
    """A ticket as it is created; ``parent`` is a ticket number, ``due`` counts days from today."""

    title: str
    body: str
    type: str = "story"
    parent: int | None = None
    labels: tuple[str, ...] = ()
    priority: str = "medium"
    state: str = "Backlog"
    mine: bool = False
    due: int | None = None


TICKETS = (
    SampleTicket(
        "Find your way around",
        "An **epic** is a large piece of work. Its stories are below, with a progress bar. The"
        " *Epics* tab shows all epics as a tree.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Work with tickets",
        "Everything you do with tickets every day. Each story here is a small exercise, and you can"
        " undo every change.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Work with bots",
        "Bots are colleagues here: they have a name, a history, and only the access you give them."
        " Two of them, @sample-writer and @sample-checker, have already worked in this project.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Write things down",
        "Pages, notes and comments. Write it down once, and nobody has to ask twice.",
        type="epic",
        state="To do",
    ),
    SampleTicket(
        "Start here: what this project is for",
        "This project explains Docket by example. Nothing in it matters, so try everything.\n\n"
        "1. Read [[welcome]], the first page of its wiki.\n"
        "2. Open the board and drag this ticket to **Done**.\n"
        "3. Look at SAMPLE-20: two bots edited its text, and you can see every word they changed.\n"
        "4. Answer the bot that is waiting for you in SAMPLE-21.\n\n"
        "When you have seen enough, remove the sample project on its overview.",
        parent=1,
        labels=("start here",),
        priority="high",
        state="In progress",
        mine=True,
        due=1,
    ),
    SampleTicket(
        "Look at the board",
        "Columns are the states of this project. You can change them in *Settings → Workflow*."
        " A card shows its labels, assignee, due date and how many of its subtasks are done."
        "\n\nTry the *Group* menu: group by epic to see one row for each epic.",
        parent=1,
        labels=("start here",),
        state="To do",
        mine=True,
    ),
    SampleTicket(
        "Find anything with Ctrl+K",
        "Press `Ctrl+K` (or `/`) and type *undo*. Tickets, pages and commands appear in one list;"
        ' press `Enter` to open the first.\n\nOn the search page, use `"quotes"` for a phrase and'
        " `-word` to exclude a word.",
        parent=1,
        labels=("try it",),
        state="To do",
    ),
    SampleTicket(
        "Learn five keys",
        "`c` creates a ticket, `g` then `b` opens the board, `j` and `k` move through a list, `e`"
        " edits, and `?` shows all shortcuts. See also [[keys]].",
        parent=1,
        labels=("try it",),
    ),
    SampleTicket(
        "Choose a theme and density",
        "Open your profile from your picture at the top right. Select a light or dark theme, a"
        " comfortable or compact layout, and whether to use single-letter shortcuts.",
        parent=1,
        priority="low",
    ),
    SampleTicket(
        "Drag a card, then undo it",
        "Drag this card to another column, by mouse or touch. With the keyboard, go to it with the"
        " arrow keys, then press `Shift` and an arrow key.\n\nSelect *Undo* in the message that"
        " appears. You can also undo it later in the ticket's activity.",
        parent=2,
        labels=("try it",),
        state="To do",
        due=3,
    ),
    SampleTicket(
        "Assign a ticket",
        "Open this ticket and press `a`. The list shows people first, then the bots with access to"
        " this project. Press `i` to assign it to yourself.",
        parent=2,
        labels=("try it",),
    ),
    SampleTicket(
        "Break work into subtasks",
        "A story can have subtasks. The bar on its card shows how many are done. Add one below:"
        " type a title and press `Enter`.",
        parent=2,
        state="In progress",
        mine=True,
        due=7,
    ),
    SampleTicket(
        "Add a subtask of your own",
        "Add it to SAMPLE-12, next to this one.",
        type="subtask",
        parent=12,
        state="To do",
    ),
    SampleTicket(
        "Complete the first subtask",
        "This one is already done, so the bar shows some progress.",
        type="subtask",
        parent=12,
        state="Done",
    ),
    SampleTicket(
        "Watch the bar move",
        "Moved to *Done* a moment ago.",
        type="subtask",
        parent=12,
        state="In review",
    ),
    SampleTicket(
        "Mark a ticket as blocked",
        "SAMPLE-17 **blocks** this ticket, so its card says *Blocked*. Once SAMPLE-17 is done, the"
        " mark disappears.",
        parent=2,
        labels=("try it",),
        state="To do",
    ),
    SampleTicket(
        "Decide on labels",
        "Each project has its own labels. Edit them in *Settings → Labels*, and filter the list by"
        " them. Close this ticket and see what happens to SAMPLE-16.",
        parent=2,
        priority="high",
        state="In progress",
        mine=True,
    ),
    SampleTicket(
        "Reschedule an overdue ticket",
        "This ticket was due two days ago, and its card says *Overdue*. Click the due date in the"
        " sidebar to change it.",
        parent=2,
        labels=("try it",),
        state="To do",
        due=-2,
    ),
    SampleTicket(
        "Save a view",
        "Filter the list of tickets, for example by the label *bots*, then save it in the *Views*"
        " menu. The URL contains the filters, so you can share it with anyone.",
        parent=2,
        priority="low",
    ),
    SampleTicket(
        "Review what a bot changed, word by word",
        "A bot edited this text. Open *Activity* below, find the edit and expand it."
        " Removed words are struck through, and added words are underlined.\n\n"
        "You can undo the edit too.",
        parent=3,
        labels=("bots", "start here"),
        priority="high",
        state="To do",
    ),
    SampleTicket(
        "Answer a question from a bot",
        "When a bot needs a decision, it asks in a comment and assigns the ticket to you. These"
        " tickets are at the top of *My work*.",
        parent=3,
        labels=("bots",),
        state="To do",
    ),
    SampleTicket(
        "Undo what a bot did",
        "Bots make mistakes, just like people. Every change is listed in the activity, with an"
        " *Undo* button if it can be undone. Undoing is a normal change in your name, so you can"
        " undo that too. Learn more in [[undo]].",
        parent=3,
        labels=("bots", "try it"),
        state="In progress",
    ),
    SampleTicket(
        "See what a bot was not allowed to do",
        "@sample-checker has read-only access. It tried to move this ticket anyway. *Bots → Sample"
        " checker* shows the call and why it was refused.",
        parent=3,
        labels=("bots",),
        state="To do",
    ),
    SampleTicket(
        "Connect your own bot",
        "Go to *Bots → New bot*. Select its access and projects; read-only access to one project is"
        " a good start. See [[agents]] for the house rules.",
        parent=3,
        labels=("bots", "start here"),
        state="To do",
        mine=True,
        due=5,
    ),
    SampleTicket(
        "Copy its MCP address",
        "It is shown once. It contains the bot's token, so treat it like a password.",
        type="subtask",
        parent=24,
        state="To do",
    ),
    SampleTicket(
        "See its first call",
        "The page with the token shows when the bot connects.",
        type="subtask",
        parent=24,
    ),
    SampleTicket(
        "Read the wiki of this project",
        "Six short pages that link to each other. Start with [[welcome]]. The bottom of each page"
        " lists the pages that link to it.",
        parent=4,
        labels=("wiki",),
        state="In review",
        mine=True,
    ),
    SampleTicket(
        "Convert a note to a ticket",
        "On the *Notes* page, select *Convert* on any note. The note stays, faded, with a"
        " link to its ticket.",
        parent=4,
        labels=("try it",),
    ),
)
