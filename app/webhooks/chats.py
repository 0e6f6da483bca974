"""The bodies of deliveries to chats: a message for people, in the form that each chat expects.

In every form, users' texts are plain text, never markup, a link or a mention. Slack and Teams
separate text from markup, so their text is sent unchanged; the others need it escaped.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from app.core.logs import scrub
from app.webhooks import messages
from app.webhooks.models import WebhookForm

# Lengths of a message's parts. Even with each character escaped, all of it fits Discord's 2,000.
SENTENCE_LENGTH = 400
TITLE_LENGTH = 120
QUOTE_LENGTH = 240

# A zero width space between a mention's sign and the name makes it plain text.
_APART = "\u200b"
# Signs that a backslash makes plain text. Mattermost shows the backslash before other signs, so
# those that begin an emoji, a formula, a character reference or the rest of an address are
# separated from what follows.
_OF_MATTERMOST = re.compile(r"[\\`*_{}\[\]()#+\-.!|~>]")
_APART_IN_MATTERMOST = re.compile(r"[@:$<]|&(?=[#\w])")
_OF_DISCORD = re.compile(r"[\\`*_{}\[\]()#+\-.!|~<>:=&/^$]")
# The path to which messages of a Matrix room are sent; the id of the message follows.
_MATRIX_PATH = re.compile(r"/_matrix/client/v3/rooms/[^/?]+/send/m\.room\.message")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A sentence about the event, a link to its subject, and a quote."""

    sentence: str
    title: str = ""
    # "" if there is nothing to open.
    url: str = ""
    quote: str = ""


def message(sentence: str, title: str = "", url: str = "", quote: str = "") -> ChatMessage:
    """A message of one-line texts within their lengths, with apparent credentials removed."""
    return ChatMessage(
        _line(sentence, SENTENCE_LENGTH),
        _line(title, TITLE_LENGTH) or messages.OPEN,
        url,
        _line(quote, QUOTE_LENGTH),
    )


def _line(text: str, length: int) -> str:
    words = " ".join(text.split())
    # An invisible character could split a token, and hide it from what removes tokens.
    plain = scrub("".join(character for character in words if character.isprintable()))
    return plain if len(plain) <= length else plain[: length - 1] + "…"


Composer = Callable[[Sequence[str]], dict[str, ChatMessage]]
_composers: list[Composer] = []


def install(composer: Composer) -> None:
    """Set the function that composes messages about audit events, by their ids."""
    _composers[:] = [composer]


def messages_of(audit_event_ids: Sequence[str]) -> dict[str, ChatMessage]:
    """The messages about these events; needs a unit of work."""
    return _composers[0](audit_event_ids) if audit_event_ids else {}


def is_room(path: str) -> bool:
    """Whether this is the path to which messages of a Matrix room are sent."""
    return _MATRIX_PATH.fullmatch(path) is not None


def content(form: WebhookForm, message: ChatMessage) -> dict[str, Any]:
    """The JSON that this chat expects."""
    return _CONTENTS[form](message)


def _slack(message: ChatMessage) -> dict[str, Any]:
    elements: list[dict[str, Any]] = [{"type": "text", "text": message.sentence}]
    if message.url:
        elements += [
            {"type": "text", "text": "\n"},
            {"type": "link", "url": message.url, "text": message.title},
        ]
    parts = [{"type": "rich_text_section", "elements": elements}]
    if message.quote:
        quoted = [{"type": "text", "text": message.quote}]
        parts.append({"type": "rich_text_quote", "elements": quoted})
    return {
        # The text of notifications. Slack treats these three characters as markup.
        "text": escape(message.sentence, quote=False),
        "blocks": [{"type": "rich_text", "elements": parts}],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _mattermost(message: ChatMessage) -> dict[str, Any]:
    def escaped(text: str) -> str:
        apart = _APART_IN_MATTERMOST.sub(rf"\g<0>{_APART}", text)
        return _OF_MATTERMOST.sub(r"\\\g<0>", apart)

    return {"text": _markdown(message, escaped), "props": {"disable_group_highlight": True}}


def _discord(message: ChatMessage) -> dict[str, Any]:
    def escaped(text: str) -> str:
        return _OF_DISCORD.sub(r"\\\g<0>", text).replace("@", f"@{_APART}")

    # 4: no link previews.
    return {"content": _markdown(message, escaped), "allowed_mentions": {"parse": []}, "flags": 4}


def _markdown(message: ChatMessage, escaped: Callable[[str], str]) -> str:
    lines = [escaped(message.sentence)]
    if message.url:
        lines.append(f"[{escaped(message.title)}](<{message.url}>)")
    if message.quote:
        lines.append(f"> {escaped(message.quote)}")
    return "\n".join(lines)


def _teams(message: ChatMessage) -> dict[str, Any]:
    """An adaptive card; a text run has no markup."""
    body = [_block(message.sentence)]
    if message.quote:
        body.append(_block(message.quote, isSubtle=True))
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if message.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": message.title, "url": message.url}]
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def _block(text: str, **look: bool) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **look}]}


def _matrix(message: ChatMessage) -> dict[str, Any]:
    """A notice, which other bots do not answer; it mentions nobody."""
    plain = [message.sentence]
    marked = [escape(message.sentence)]
    if message.url:
        plain.append(f"{message.title}: {message.url}")
        marked.append(f'<br><a href="{escape(message.url)}">{escape(message.title)}</a>')
    if message.quote:
        plain.append(f"> {message.quote}")
        marked.append(f"<blockquote>{escape(message.quote)}</blockquote>")
    return {
        "msgtype": "m.notice",
        "body": "\n".join(plain).replace("@", f"@{_APART}"),
        "format": "org.matrix.custom.html",
        "formatted_body": "".join(marked).replace("@", f"@{_APART}"),
        "m.mentions": {},
    }


_CONTENTS: dict[WebhookForm, Callable[[ChatMessage], dict[str, Any]]] = {
    WebhookForm.SLACK: _slack,
    WebhookForm.MATTERMOST: _mattermost,
    WebhookForm.DISCORD: _discord,
    WebhookForm.TEAMS: _teams,
    WebhookForm.MATRIX: _matrix,
}
