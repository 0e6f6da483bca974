"""The wiki pages and notes of the sample project; SAMPLE stands for its key.

``keys`` and ``undo`` are written by a bot, in ``sample_history.py``.
"""

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
