"""Reactions: a user reacts to a comment with an emoji, and removes it by doing so again."""

from typing import Any

import orjson
from sqlalchemy import delete, insert, select

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.audit.service import record
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import NotFound
from app.database.session import session
from app.database.sql_functions import JsonRows
from app.tickets import loaders
from app.tickets.models import Comment, CommentReaction, Reaction

EMOJI = {
    Reaction.THUMBS_UP: "\N{THUMBS UP SIGN}",
    Reaction.THUMBS_DOWN: "\N{THUMBS DOWN SIGN}",
    Reaction.LAUGH: "\N{SMILING FACE WITH OPEN MOUTH AND SMILING EYES}",
    Reaction.HOORAY: "\N{PARTY POPPER}",
    # The variation selector requests the colored form.
    Reaction.HEART: "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}",
    Reaction.EYES: "\N{EYES}",
}
REACTED = "comment.reacted"

# The reactions to a comment, to be parsed by ``reactions_in``.
REACTIONS = (
    select(
        JsonRows(
            CommentReaction.created_at,
            CommentReaction.user_id,
            CommentReaction.reaction,
            User.type,
            User.username,
            User.display_name,
        )
    )
    .select_from(CommentReaction)
    .join(User, User.id == CommentReaction.user_id)
    .where(CommentReaction.comment_id == Comment.id)
    .correlate(Comment)
    .scalar_subquery()
    .label("reactions")
)


def reactions_in(json_rows: str | None) -> list[dict[str, Any]]:
    """Parse a value of the column ``REACTIONS``; users are in the order of their reactions."""
    users: dict[str, list[UserSummary]] = {}
    for _, user_id, reaction, *names in sorted(orjson.loads(json_rows)) if json_rows else ():
        users.setdefault(reaction, []).append(user_summary(user_id, *names))
    return [
        {
            "reaction": reaction.value,
            "emoji": emoji,
            "count": len(users[reaction]),
            "users": users[reaction],
        }
        for reaction, emoji in EMOJI.items()
        if reaction in users
    ]


def of_comment(comment_id: str) -> list[dict[str, Any]]:
    """The reactions to one comment. The caller has checked access to it."""
    return reactions_in(session.scalar(select(REACTIONS).where(Comment.id == comment_id)))


@operation(Access.WRITE)
def add_reaction(actor: Actor, comment_id: str, reaction: str) -> Comment:
    """React to a comment; raises NotFound for an unknown reaction. Idempotent."""
    return _change(actor, comment_id, reaction, is_added=True)


@operation(Access.WRITE)
def remove_reaction(actor: Actor, comment_id: str, reaction: str) -> None:
    """Remove the actor's own reaction, if there is one; raises NotFound for an unknown one."""
    _change(actor, comment_id, reaction, is_added=False)


@operation(Access.HUMAN)
def put_back_reaction(
    actor: Actor, comment_id: str, reaction: str, *, user_id: str, is_added: bool
) -> None:
    """Add or remove a user's reaction again, to undo the user's own change."""
    _change(actor, comment_id, reaction, is_added=is_added, user_id=user_id)


def _change(
    actor: Actor, comment_id: str, reaction: str, *, is_added: bool, user_id: str | None = None
) -> Comment:
    """Add or remove a reaction, record any change, and return the comment."""
    comment, ticket = loaders.writable_comment(actor, comment_id)
    if reaction not in set(Reaction):
        raise NotFound("reaction", reaction)
    key = {"comment_id": comment.id, "user_id": user_id or actor.id, "reaction": reaction}
    if is_reacted(**key) is is_added:
        return comment
    if is_added:
        session.execute(insert(CommentReaction).values(**key, created_at=now_ms()))
    else:
        session.execute(delete(CommentReaction).filter_by(**key))
    record(
        actor,
        REACTED,
        loaders.target(ticket),
        comment_id=comment.id,
        reaction=reaction,
        action="added" if is_added else "removed",
        # The user whose reaction it is, if that is not the actor.
        **({"user_id": user_id} if user_id else {}),
    )
    return comment


def is_reacted(comment_id: str, user_id: str, reaction: str) -> bool:
    own = select(CommentReaction.created_at).filter_by(
        comment_id=comment_id, user_id=user_id, reaction=reaction
    )
    return session.scalar(own) is not None
