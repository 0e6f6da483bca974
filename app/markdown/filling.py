"""Putting code, line breaks and wiki links, which are wholly ours, in the place of their marks."""

import re
from html import escape

from app.markdown.highlighting import highlighted
from app.markdown.marks import MARK, Block, Break, Code, PageLink, TicketLink, Token
from app.markdown.values import Broken, Resolved, Target, Targets


def filled(html: str, tokens: list[Token], targets: Targets) -> str:
    """The HTML with code, line breaks and wiki links in the place of their marks."""
    spent = 0

    def fill(found: re.Match[str]) -> str:
        nonlocal spent
        token = tokens[int(found.group(1))]
        if isinstance(token, Break):
            return "<br>"
        if isinstance(token, Code):
            return f"<code>{escape(token.text)}</code>"
        if isinstance(token, Block):
            code = highlighted(token.text, token.language, spent)
            spent += len(token.text)
            return f'<pre tabindex="0"><code>{code}</code></pre>'
        return wiki_link(token, targets)

    return MARK.sub(fill, html)


def wiki_link(token: Token, targets: Targets) -> str:
    """A link to a page or ticket; an id that names no ticket is plain text if it stands alone."""
    target: Target
    match token:
        case PageLink(slug, shown):
            target = targets.pages.get(slug, Broken())
            return _to_target(target, shown, "wikilink", f"There is no page {slug}")
        case TicketLink(display_id, shown, is_bare, has_words):
            target = targets.tickets.get(display_id, Broken())
            if isinstance(target, Broken):
                if is_bare:
                    return escape(shown)
            elif not is_bare and not has_words:
                return _to_target(target, f"{shown} {target.title}", "ticket-link is-titled", "")
            return _to_target(target, shown, "ticket-link", f"There is no ticket {display_id}")
        case _:
            return ""


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
        f' title="{missing}: create it">{escape(shown)}</a>'
    )
