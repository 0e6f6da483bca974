"""Who may do what: the one table by which every route, tool and page is judged.

Columns are places where a thing can be: ``own`` is the project that the bots fenced and peeper may
see, ``other`` one that they may not; ``deleted`` and ``xdeleted`` are deleted things in those two,
``dead`` and ``xdead`` live things in deleted projects inside and outside the allowlist; ``global``
is a wiki page of no project, ``personal`` a note of ada's, ``missing`` nothing at all.

Cells are outcomes (OUTCOMES).
"""

from collections.abc import Mapping, Sequence

NONE: Mapping[str, str] = {}

OUTCOMES = {
    "ok": None,
    "login": (401, "auth.unauthenticated", None),
    "bad": (401, "auth.invalid_credentials", None),
    "passkey": (401, "auth.invalid_credentials", "passkey_over"),
    "both": (401, "auth.ambiguous_credentials", None),
    "human": (403, "auth.forbidden", "humans_only"),
    "readonly": (403, "auth.read_only_bot", None),
    "fence": (403, "auth.forbidden", "project_not_in_allowlist"),
    "wiki": (403, "auth.forbidden", "bot_cannot_edit_global_wiki"),
    "author": (403, "auth.forbidden", "not_author"),
    "uploader": (403, "auth.forbidden", "not_uploader"),
    "nonote": (403, "auth.forbidden", "bots_have_no_personal_notes"),
    "404": (404, "resource.not_found", None),
    "410": (410, "resource.gone", None),
    "taken": (409, "resource.conflict", "invariant_violation"),
    "password": (400, "auth.current_password_invalid", None),
    "over": (422, "validation.invalid_field", "over"),
    "notfound": (422, "validation.invalid_field", "not_found"),
}

TABLE = """
H,B/R    own      other    deleted  xdeleted dead     xdead    global   personal missing
nobody   login    login    login    login    login    login    login    login    login
revoked  bad      bad      bad      bad      bad      bad      bad      bad      bad
asleep   bad      bad      bad      bad      bad      bad      bad      bad      bad
twofold  both     both     both     both     both     both     both     both     both
ada      ok       ok       410      410      410      410      ok       ok       404
bo       ok       ok       410      410      410      410      ok       404      404
smith    ok       ok       410      410      410      410      ok       404      404
globe    ok       ok       410      410      410      410      ok       404      404
scout    ok       ok       410      410      410      410      ok       404      404
fenced   ok       404      410      404      410      404      ok       404      404
peeper   ok       404      410      404      410      404      ok       404      404

H,B/W    own      other    deleted  xdeleted dead     xdead    global   personal missing
nobody   login    login    login    login    login    login    login    login    login
revoked  bad      bad      bad      bad      bad      bad      bad      bad      bad
asleep   bad      bad      bad      bad      bad      bad      bad      bad      bad
twofold  both     both     both     both     both     both     both     both     both
ada      ok       ok       410      410      410      410      ok       ok       404
bo       ok       ok       410      410      410      410      ok       404      404
smith    ok       ok       410      410      410      410      wiki     404      404
globe    ok       ok       410      410      410      410      ok       404      404
scout    readonly readonly readonly readonly readonly readonly readonly readonly readonly
fenced   ok       fence    410      fence    410      fence    wiki     404      404
peeper   readonly readonly readonly readonly readonly readonly readonly readonly readonly

H        own      other    deleted  xdeleted dead     xdead    global   personal missing
nobody   login    login    login    login    login    login    login    login    login
revoked  bad      bad      bad      bad      bad      bad      bad      bad      bad
asleep   bad      bad      bad      bad      bad      bad      bad      bad      bad
twofold  both     both     both     both     both     both     both     both     both
ada      ok       ok       410      410      410      410      ok       ok       404
bo       ok       ok       410      410      410      410      ok       404      404
smith    human    human    human    human    human    human    human    human    human
globe    human    human    human    human    human    human    human    human    human
scout    human    human    human    human    human    human    human    human    human
fenced   human    human    human    human    human    human    human    human    human
peeper   human    human    human    human    human    human    human    human    human

anon     own      other    deleted  xdeleted dead     xdead    global   personal missing
nobody   ok       ok       ok       ok       ok       ok       ok       ok       ok
revoked  bad      bad      bad      bad      bad      bad      bad      bad      bad
asleep   bad      bad      bad      bad      bad      bad      bad      bad      bad
twofold  both     both     both     both     both     both     both     both     both
ada      ok       ok       ok       ok       ok       ok       ok       ok       ok
bo       ok       ok       ok       ok       ok       ok       ok       ok       ok
smith    ok       ok       ok       ok       ok       ok       ok       ok       ok
globe    ok       ok       ok       ok       ok       ok       ok       ok       ok
scout    ok       ok       ok       ok       ok       ok       ok       ok       ok
fenced   ok       ok       ok       ok       ok       ok       ok       ok       ok
peeper   ok       ok       ok       ok       ok       ok       ok       ok       ok
"""

# While a person has paused all bots, each of their cells under H,B/W has the outcome of scout's.
PAUSED_LIKE = "scout"

# Words planted in each place, and the only actors who may read them.
EVERYONE = ("ada", "bo", "smith", "globe", "scout", "fenced", "peeper")
UNFENCED = ("ada", "bo", "smith", "globe", "scout")
HUMANS = ("ada", "bo")
MAY_READ = {
    "own": EVERYONE,
    "other": UNFENCED,
    "deleted": HUMANS,
    "xdeleted": HUMANS,
    "dead": HUMANS,
    "xdead": HUMANS,
    "global": EVERYONE,
    "personal": ("ada",),
}
# Who may see the ids of things in a place. The audit log names a personal note by its id alone.
SEE_IDS = {
    "own": EVERYONE,
    "deleted": EVERYONE,
    "dead": EVERYONE,
    "other": UNFENCED,
    "xdeleted": UNFENCED,
    "xdead": UNFENCED,
    "global": EVERYONE,
    "personal": HUMANS,
}
# Activity keeps events of deleted things: everyone who sees the project reads them there.
FEEDS = {"projects.activity.list", "tickets.activity.list"}
IN_FEEDS = {"deleted": EVERYONE, "xdeleted": UNFENCED}


def _read() -> dict[tuple[str, str, str], str]:
    cells: dict[tuple[str, str, str], str] = {}
    access, places = "", [""]
    for line in filter(None, TABLE.splitlines()):
        first, *rest = line.split()
        if first in ("H,B/R", "H,B/W", "H", "anon"):
            access, places = first, rest
            continue
        cells |= {(access, first, place): cell for place, cell in zip(places, rest, strict=True)}
    return cells


CELLS = _read()
ACTORS = tuple(dict.fromkeys(actor for _, actor, _ in CELLS))
PLACES = tuple(dict.fromkeys(place for _, _, place in CELLS))
# Actors whose statements differ: people, a bot of all projects, one of a few. All actors are
# tested on SQLite; on PostgreSQL the others would run the same code and statements.
ASKING = {"sqlite": ACTORS, "postgresql": ("ada", "bo", "smith", "fenced")}


def places_of(access: str, actor: str, places: Sequence[str]) -> list[str]:
    """The places to test: a row with a single outcome is tested at ``own`` and ``missing`` only.

    globe differs from smith on global pages alone.
    """
    if actor == "globe" and "global" not in places and len(places) > 1:
        return []
    is_uniform = len({CELLS[access, actor, place] for place in PLACES}) == 1
    return [one for one in places if not is_uniform or one in ("own", "missing")]


def outcome(
    access: str, actor: str, place: str, special: Mapping[str, str] = NONE
) -> tuple[int, str, str | None] | None:
    """The refusal that this actor gets there; None is success.

    ``special`` has the exceptions of one operation, by "actor place" or "* place": rules of its
    domain, which apply after credentials and the kind of actor. "human" has what a bot gets
    instead of humans_only.
    """
    cell = CELLS[access, actor, place]
    if cell in ("login", "bad", "both", "readonly"):
        return OUTCOMES[cell]
    if cell == "human":
        return OUTCOMES[special.get("human", cell)]
    return OUTCOMES[special.get(f"{actor} {place}") or special.get(f"* {place}") or cell]


def may_read(actor: str, place: str, operation: str) -> bool:
    """Whether responses to this actor may contain the words of that place."""
    if operation in FEEDS and actor in IN_FEEDS.get(place, ()):
        return True
    return actor in MAY_READ[place]
