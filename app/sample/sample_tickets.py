"""The pages, notes, labels and tickets of the sample project, tickets in the order of numbers.

Texts say SAMPLE for the project's key and PERSON for whoever loads it.
"""

from dataclasses import dataclass

WELCOME = """\
This is the wiki of the sample project. Its pages say what Docket can do; its tickets are there to
be tried.

## Where to begin

- [[ticket:SAMPLE-5]] says what to look at first.
- [[working]] is about tickets: states, subtasks, what waits for what.
- [[undo]] tells how anything can be taken back, also what a bot did.
- [[agents]] has the house rules that every bot here is told to read.
- [[keys]] lists the keys worth knowing.
- [[writing]] shows how a text looks.

## Who is here

You, and two bots. *Sample writer* works on tickets and writes pages. *Sample checker* looks over
its shoulder. Both did everything in this project through the same tools that your own bots will
use, so their history is a real one.

## When you are done

The overview of this project has a button that removes it. The two bots are switched off with it.
The audit log keeps what happened, as it always does.
"""

WORKING = """\
A ticket is an **epic**, a **story** or a **subtask**. Stories may belong to an epic; subtasks
belong to a story.

| To… | do this |
| --- | --- |
| move it | drag its card, or press `m` |
| give it to someone | press `a`; `i` is for yourself |
| say it waits | *Relations*: blocked by another ticket |
| see how far it is | count the bar on its card |

A ticket's state is one of the project's columns. There are three kinds of column: what waits, what
moves and what is done. Reports and boards over all projects go by these kinds.

[[ticket:SAMPLE-12]] has subtasks, [[ticket:SAMPLE-16]] waits for [[ticket:SAMPLE-17]], and
[[ticket:SAMPLE-18]] is overdue. If one of them went wrong, see [[undo]].
"""

AGENTS = """\
Every bot is told to read this page before it works here. Write what a new colleague would need.

1. **Claim before you work.** Assign the ticket to yourself, expecting that nobody has it.
2. **Say what you did** in a comment when you move a ticket.
3. **Ask rather than guess.** Put the question in a comment, name the person, and give the ticket
   to them.
4. **Change little.** Prefer small edits of a text to a new one, so that people can read the
   difference.
5. Leave [[welcome]] to people.

A page called `agents` outside of any project holds for all of them. [[undo]] tells what people do
when a rule was forgotten.
"""

WRITING = """\
Texts are Markdown. The toolbar helps, and so does `[[`: it offers pages as you type.

## What is understood

- **bold**, *italic*, ~~struck~~ and `code`
- links to pages, such as [[welcome]], to tickets, such as [[ticket:SAMPLE-20]], or by display id
  alone: SAMPLE-21
- [[a-page-nobody-wrote-yet]]: a link to a page that is missing, which is how pages begin
- tables, lists with boxes, and code

```python
def greet(name: str) -> str:
    return f"Hello, {name}"
```

> A quotation stands like this.

Every save is a revision, and any two can be compared. [[working]] is about tickets, [[keys]] about
the keyboard.
"""

# Slug, title, body.
PAGES = (
    ("welcome", "Welcome", WELCOME),
    ("working", "Working with tickets", WORKING),
    ("agents", "House rules for bots", AGENTS),
    ("writing", "Writing pages", WRITING),
)

NOTES = (
    ("**Notes** are for thoughts that are no ticket yet. Drop one here with `n`.", "#fde68a"),
    ("Ask the team: which of our real projects do we bring over first?", "#bfdbfe"),
    ("Idea: one epic a month, closed with a page in the wiki.", "#bbf7d0"),
    ("A note can become a ticket: choose *Make a ticket* on it.", "#fbcfe8"),
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
        "An **epic** is a large piece of work. Its stories are below, with a bar that says how far"
        " they are. The *Epics* tab shows all epics as a tree.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Work with tickets",
        "Everything one does with tickets every day. Each story here is a small exercise; what you"
        " change can be undone.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Work with bots",
        "Bots are colleagues here: they have a name, a history, and only the rights you give them."
        " Two of them, @sample-writer and @sample-checker, worked in this project before you came.",
        type="epic",
        state="In progress",
    ),
    SampleTicket(
        "Write things down",
        "Pages, notes and comments. What is written down once need not be asked twice.",
        type="epic",
        state="To do",
    ),
    SampleTicket(
        "Start here: what this project is for",
        "This project explains Docket by example. Nothing in it matters, so try everything.\n\n"
        "1. Read [[welcome]], the first page of its wiki.\n"
        "2. Open the board and drag this ticket to **Done**.\n"
        "3. Look at SAMPLE-20: two bots edited its text, and you can see each word they changed.\n"
        "4. Answer the bot that waits for you in SAMPLE-21.\n\n"
        "When you have seen enough, *Remove the sample project* stands on its overview.",
        parent=1,
        labels=("start here",),
        priority="high",
        state="In progress",
        mine=True,
        due=1,
    ),
    SampleTicket(
        "Look at the board",
        "Columns are the states of this project; *Settings → Workflow* names and orders them."
        " A card shows its labels, who works on it, when it is due, and how many of its subtasks"
        " are done.\n\nTry the *Group* menu: by epic, the board becomes a row for each.",
        parent=1,
        labels=("start here",),
        state="To do",
        mine=True,
    ),
    SampleTicket(
        "Find anything with Ctrl+K",
        "Press `Ctrl+K` (or `/`) and type *undo*. Tickets, pages and commands come up in one list;"
        " `Enter` opens the first.\n\nThe search page understands more: `type:story is:open` or"
        " `label:bots`.",
        parent=1,
        labels=("try it",),
        state="To do",
    ),
    SampleTicket(
        "Learn five keys",
        "`c` makes a ticket, `g` then `b` opens the board, `j` and `k` walk a list, `e` edits, and"
        " `?` shows all the others. They are listed in [[keys]].",
        parent=1,
        labels=("try it",),
    ),
    SampleTicket(
        "Make it yours: theme and density",
        "Your picture at the top right leads to your profile. Light or dark, roomy or tight, and"
        " whether single letters are shortcuts: that is for you to say.",
        parent=1,
        priority="low",
    ),
    SampleTicket(
        "Drag a card, then undo it",
        "Drag this card to another column, by mouse or finger. With the keyboard: walk to it with"
        " the arrows, then `Shift` and an arrow.\n\nThe message that appears offers to undo it."
        " Later, the ticket's own history does.",
        parent=2,
        labels=("try it",),
        state="To do",
        due=3,
    ),
    SampleTicket(
        "Give a ticket to someone",
        "Open this ticket and press `a`. People stand first in the list, then the bots that may"
        " work in this project. `i` gives it to yourself.",
        parent=2,
        labels=("try it",),
    ),
    SampleTicket(
        "Break work into subtasks",
        "A story can have subtasks; the bar on its card counts those that are done. Add one below:"
        " type a title and press `Enter`.",
        parent=2,
        state="In progress",
        mine=True,
        due=7,
    ),
    SampleTicket(
        "Add a subtask of your own",
        "Beside this one, in SAMPLE-12.",
        type="subtask",
        parent=12,
        state="To do",
    ),
    SampleTicket(
        "Tick off the first part",
        "This one is done already, so the bar has something to show.",
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
        "Say that one thing waits for another",
        "SAMPLE-17 **blocks** this ticket, so its card says *blocked*, and `is:blocked` finds it."
        " Once SAMPLE-17 is done the mark goes away by itself.",
        parent=2,
        labels=("try it",),
        state="To do",
    ),
    SampleTicket(
        "Decide on labels",
        "Labels are a project's own. *Settings → Labels* names and colours them; the list filters"
        " by them. Finish this one and see what happens to SAMPLE-16.",
        parent=2,
        priority="high",
        state="In progress",
        mine=True,
    ),
    SampleTicket(
        "Notice what is overdue",
        "This ticket was due two days ago, and its card says so in words, not by colour alone."
        " Give it another date: click the date at the side.",
        parent=2,
        labels=("try it",),
        state="To do",
        due=-2,
    ),
    SampleTicket(
        "Keep a view of the list",
        "Filter the list of tickets, say by the label *bots*, then *Save view*. The address of the"
        " page holds the filter too, so it can be sent to anyone.",
        parent=2,
        priority="low",
    ),
    SampleTicket(
        "Read what a bot changed, word by word",
        "A bot edited this text. Open *Activity* below, find the line that says so and unfold it."
        " Words that went are struck out, words that came are underlined.\n\n"
        "You can undo the edit too.",
        parent=3,
        labels=("bots", "start here"),
        priority="high",
        state="To do",
    ),
    SampleTicket(
        "Answer a bot that asks",
        "When a bot does not know how to go on, it asks in a comment and gives the ticket back."
        " Such tickets stand at the top of *My work*.",
        parent=3,
        labels=("bots",),
        state="To do",
    ),
    SampleTicket(
        "Undo what a bot did",
        "Bots make mistakes as people do. Every change has its line in the history, and every line"
        " that can be taken back has an *Undo*. It is an ordinary change in your name: nothing is"
        " rewritten, and it can be undone as well. More in [[undo]].",
        parent=3,
        labels=("bots", "try it"),
        state="In progress",
    ),
    SampleTicket(
        "See what a bot was refused",
        "@sample-checker may only read now. It tried to move this ticket all the same: *Bots →"
        " Sample checker* lists the call and why it was refused.",
        parent=3,
        labels=("bots",),
        state="To do",
    ),
    SampleTicket(
        "Connect a bot of your own",
        "*Bots → New bot* makes one. Say what it may do and where; *read only* in one project is a"
        " good beginning. House rules for all of them are in [[agents]].",
        parent=3,
        labels=("bots", "start here"),
        state="To do",
        mine=True,
        due=5,
    ),
    SampleTicket(
        "Copy its MCP address",
        "It is shown once. Whoever has it is the bot, so keep it like a password.",
        type="subtask",
        parent=24,
        state="To do",
    ),
    SampleTicket(
        "See its first call arrive",
        "The page with the token waits for it, and says so when it comes.",
        type="subtask",
        parent=24,
    ),
    SampleTicket(
        "Read the wiki of this project",
        "Six short pages that link to one another: begin with [[welcome]]. At the foot of each page"
        " stands what links to it.",
        parent=4,
        labels=("wiki",),
        state="In review",
        mine=True,
    ),
    SampleTicket(
        "Turn a sticky note into a ticket",
        "On the *Notes* wall, choose *Make a ticket* on any note. The note stays, faded, and"
        " leads to its ticket.",
        parent=4,
        labels=("try it",),
    ),
)
