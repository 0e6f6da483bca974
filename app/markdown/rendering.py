"""``render``: turns Markdown that people and bots wrote into HTML that is safe to show."""

import hashlib
import re
from functools import cache
from html import escape

import orjson
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from app.core.cache import Cache
from app.markdown import library, messages
from app.markdown.budget import RenderBudget, TooSlow
from app.markdown.marks import (
    MARK,
    Block,
    Break,
    Code,
    PageLink,
    Picture,
    TicketLink,
    Token,
    UserMention,
    clean,
)
from app.markdown.source import Long, MarkdownSource, links_of, read_any
from app.markdown.values import (
    Broken,
    Html,
    Links,
    Mentioned,
    Profile,
    Resolved,
    Resolver,
    Target,
    Targets,
    nowhere,
)
from app.markdown.writing import HtmlPage, write

# Longer code blocks, and blocks after this much code, are not highlighted.
MAX_LENGTH = 16_384
MAX_TOTAL_LENGTH = 65_536

# Aliases of the Pygments lexers that take little and linear time on hostile text
# (tests/markdown/test_speed.py). Other languages are not highlighted.
_NAMES = """
    bash sh shell zsh console shell-session powershell ps1 fish bat batch
    c c++ cpp h csharp cs go golang java kotlin kt rust rs swift scala zig
    python py python3 pycon pytb ruby rb perl pl php lua r julia elixir erlang haskell hs clojure
    javascript js jsx typescript ts tsx json jsonc yaml yml toml ini cfg dotenv properties
    html xml svg css scss sass less
    sql postgresql postgres psql mysql sqlite3 graphql
    diff patch udiff docker dockerfile make makefile cmake nginx apache terraform hcl
    http text plain plaintext tex latex vim protobuf proto awk sed
"""
LANGUAGES = frozenset(_NAMES.split())


@cache
def _formatter() -> "HtmlFormatter[str]":
    return HtmlFormatter(nowrap=True)


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def highlighted(code: str, language: str, spent: int) -> str:
    """The code as HTML, highlighted if its language is known and it is not too long.

    ``spent`` is the length of the code before it.
    """
    name = language.lower()
    if name in LANGUAGES and len(code) < MAX_LENGTH and spent + len(code) <= MAX_TOTAL_LENGTH:
        lexer = _lexer(name)
        if lexer is not None:
            return highlight(code, lexer, _formatter())
    return escape(code)


def filled(html: str, tokens: list[Token], targets: Targets) -> str:
    """The HTML with code, line breaks and wiki links in place of their marks."""
    spent = 0

    def fill(found: re.Match[str]) -> str:
        nonlocal spent
        token = tokens[int(found.group(1))]
        if isinstance(token, Break):
            return "<br>"
        if isinstance(token, Code):
            return f"<code>{escape(token.text)}</code>"
        if isinstance(token, Picture):
            words = escape(MARK.sub("", token.words))
            return f'<img src="{token.address}" alt="{words}" loading="lazy">'
        if isinstance(token, Block):
            code = highlighted(token.text, token.language, spent)
            spent += len(token.text)
            return f'<pre tabindex="0"><code>{code}</code></pre>'
        return wiki_link(token, targets)

    return MARK.sub(fill, html)


def wiki_link(token: Token, targets: Targets) -> str:
    """A link to a page or ticket, or the pill of a user; plain text if it only looks like one."""
    target: Target
    match token:
        case PageLink(slug, shown, has_words):
            target = targets.pages.get(slug, Broken())
            if isinstance(target, Resolved) and not has_words:
                shown = target.title
            return _to_target(target, shown, "wikilink", messages.no_page(slug))
        case TicketLink(display_id, shown, is_bare, has_words):
            target = targets.tickets.get(display_id, Broken())
            if isinstance(target, Broken):
                if is_bare:
                    return escape(shown)
            elif not is_bare and not has_words:
                return _to_target(target, f"{shown} {target.title}", "ticket-link is-titled", "")
            return _to_target(target, shown, "ticket-link", messages.no_ticket(display_id))
        case UserMention(username, shown):
            return _mention(targets.users.get(username), shown)
        case _:
            return ""


def _mention(user: Mentioned | None, shown: str) -> str:
    if user is None:
        return escape(shown)
    kind, note = ("mention is-bot", " (bot)") if user.is_bot else ("mention", "")
    said = escape(user.display_name + note)
    return f'<span class="{kind}" title="{said}">{escape(shown)}</span>'


def _to_target(target: Target, shown: str, kind: str, missing: str) -> str:
    if isinstance(target, Resolved):
        said = " · ".join(filter(None, (target.title, target.state)))
        done = " is-done" if target.is_done else ""
        return (
            f'<a class="{kind}{done}" href="{escape(target.href)}"'
            f' title="{escape(said)}">{escape(shown)}</a>'
        )
    if target.href is None:
        return f'<span class="{kind} is-broken" title="{missing}">{escape(shown)}</span>'
    return (
        f'<a class="{kind} is-broken" href="{escape(target.href)}"'
        f' title="{messages.create_it(missing)}">{escape(shown)}</a>'
    )


# Increase it whenever the HTML of some text changes.
VERSION = b"5"
CAPACITY = 16 * 1024 * 1024

_laid_out: Cache[Html] = Cache(CAPACITY)
_linked: Cache[Links] = Cache(CAPACITY // 8)


def render(
    text: str,
    profile: Profile = Profile.FULL,
    resolver: Resolver = nowhere,
    *,
    anchor_prefix: str = "h-",
) -> Html:
    """Render a text. Raises only what the resolver raises.

    *full* is for tickets, comments and wiki pages: all of Markdown, with tables, task lists, wiki
    links, display ids and mentions. Pictures that are stored files are shown, others become links.
    Raw HTML is shown as typed. A level-1 heading becomes an h2, as the page's title is its only h1.

    *restricted* is for sticky notes. Of h1, h2, tables and pictures only the text stays; h3 to h6
    have no anchors. ``[[...]]``, display ids, mentions and task boxes are plain text, and the
    resolver is not called. Line breaks are shown as typed.

    ``anchor_prefix`` starts every heading's anchor, so that no text takes an id of the page itself;
    several texts on one page need different prefixes. Links in the text (``#setup``) get it, too.

    A text that is too long (``source.read_any``) is shown as its source, with its wiki links. If a
    library fails or rendering takes too long (``budget``), the source has no links and ``failed``
    is set; that is cached only if the text alone took too long.
    """
    key = _key(text.encode("utf-8", "surrogatepass"), profile.encode())
    own = RenderBudget()
    try:
        links, reading = _links(key, text, profile, own)
    except TooSlow:
        return _failed(text, Links(), TooSlow.__name__)
    targets = resolver(links) if links != Links() else Targets()
    key = _key(key, anchor_prefix.encode(), _fingerprint(links, targets))
    cached = _laid_out.get(key)
    if cached is not None:
        return cached
    try:
        with own:
            reading = reading or read_any(clean(text), profile)
            done = _rendered(reading, profile, links, targets, anchor_prefix)
    except Exception as error:
        # No exception of a library may break a page.
        done = _failed(text, links, type(error).__name__)
        if not (isinstance(error, TooSlow) and own.is_its_own):
            return done
        # Rendering it again would take as long.
    _laid_out.put(key, done, 200 + 2 * len(done.html))
    return done


def linked(text: str) -> Links:
    """What ``parse`` finds, cached; nothing once the request has no time left (``budget``)."""
    key = _key(text.encode("utf-8", "surrogatepass"), Profile.FULL.encode())
    try:
        return _links(key, text, Profile.FULL, RenderBudget())[0]
    except TooSlow:
        return Links()


def mentions(text: str, username: str) -> bool:
    """Whether a rendered text mentions this user; cached, and true if time is over."""
    key = _key(text.encode("utf-8", "surrogatepass"), Profile.FULL.encode())
    try:
        return username in _links(key, text, Profile.FULL, RenderBudget())[0].users
    except TooSlow:
        return True


def _links(
    key: bytes, text: str, profile: Profile, budget: RenderBudget
) -> tuple[Links, MarkdownSource | Long | None]:
    """The links of a text, and the text as read unless the links were cached."""
    links = _linked.get(key)
    if links is not None:
        return links, None
    with budget:
        reading = read_any(clean(text), profile)
        links = links_of(reading)
    _linked.put(key, links, 200 + 100 * (len(links.slugs) + len(links.tickets) + len(links.users)))
    return links, reading


def _failed(text: str, links: Links, error: str) -> Html:
    source = _as_source(Long(clean(text)), Targets())
    return Html(source, links=links, is_source=True, failed=True, error=error)


def _rendered(
    source: MarkdownSource | Long,
    profile: Profile,
    links: Links,
    targets: Targets,
    anchor_prefix: str,
) -> Html:
    if isinstance(source, Long):
        return Html(_as_source(source, targets), links=links, is_source=True)
    page = HtmlPage(profile, source.tokens, anchor_prefix)
    written = write(page, library.blocks(source.text, profile), library.shaped)
    html = library.cleaned(filled(written, source.tokens, targets), profile)
    # nh3 has cleaned it.
    return Html(Markup(html), tuple(page.headings), links)  # noqa: S704


def _as_source(long: Long, targets: Targets) -> Markup:
    """The text as typed, with its wiki links."""
    out: list[str] = []
    at = 0
    for start, end, token in long.mentions:
        out += [escape(long.text[at:start]), wiki_link(token, targets)]
        at = end
    out.append(escape(long.text[at:]))
    return Markup(f'<pre class="source" tabindex="0">{"".join(out)}</pre>')  # noqa: S704 - escaped


def _fingerprint(links: Links, targets: Targets) -> bytes:
    said = (
        [targets.pages.get(slug) for slug in links.slugs],
        [targets.tickets.get(display_id) for display_id in links.tickets],
        [targets.users.get(username) for username in links.users],
    )
    try:
        return orjson.dumps(said)
    except TypeError:
        # A lone surrogate, which no stored text has.
        return repr(said).encode("utf-8", "backslashreplace")


def _key(*parts: bytes) -> bytes:
    digest = hashlib.sha256(VERSION)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
