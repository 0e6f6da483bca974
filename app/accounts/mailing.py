"""Mail about accounts: its content, and the link that confirms an address."""

from dataclasses import dataclass

from sqlalchemy import exists, select

from app.accounts import credentials, emails, messages, password_links
from app.accounts.login import human_actor
from app.accounts.models import ProviderIdentity, User, UserType
from app.audit.service import Target, record
from app.core.actor import SYSTEM, Access, Actor, operation
from app.core.clock import DAY_MS, HOUR_MS, now_ms
from app.core.errors import Conflict, NotFound, RateLimited
from app.core.logs import REDACTED
from app.database.session import session
from app.http.current import current_settings
from app.mail import outbox, writing
from app.mail.models import Mail, MailKind
from app.mail.writing import Letter

# How long a link in a mail works.
LIFETIME_MS = DAY_MS
# Mails with a confirmation link, per person.
MAX_CONFIRMATIONS_PER_HOUR = 5


def install() -> None:
    """Register the writers of these mails."""
    writing.install(MailKind.CONFIRM, _confirmation)
    writing.install(MailKind.CHANGED, _changed)
    writing.install(MailKind.RESET, _reset, _prepare_reset)
    writing.install(MailKind.INVITATION, _invitation)


def ask_to_confirm(user: User) -> bool:
    """Mail a link that confirms the address; False if that is pointless or was done too often."""
    if user.email is None or user.email_confirmed_at is not None:
        return False
    recent = outbox.count_since(MailKind.CONFIRM, user.id, now_ms() - HOUR_MS)
    if recent >= MAX_CONFIRMATIONS_PER_HOUR:
        return False
    mail = outbox.enqueue(MailKind.CONFIRM, user.email, user.id, has_token=True)
    return mail is not None


def tell_of_change(user: User, before: str | None) -> None:
    """Notify the old confirmed address, if any, that the person no longer uses it."""
    if before is not None:
        outbox.enqueue(MailKind.CHANGED, before, user.id)


def send_link(user: User) -> Mail:
    """Put the mail with a person's link to choose a password into the outbox.

    An invitation may go to an unconfirmed address: using its link confirms the address. Raises
    Conflict ``invariant_violation`` if mail is off, or the address is missing or not confirmed.
    """
    is_invitation = user.password_hash is None
    address = user.email if is_invitation else emails.proven(user)
    if address is None:
        raise Conflict("invariant_violation", messages.NO_CONFIRMED_EMAIL)
    kind = MailKind.INVITATION if is_invitation else MailKind.RESET
    mail = outbox.enqueue(kind, address, user.id, has_token=True)
    if mail is None:
        raise Conflict("invariant_violation", messages.MAIL_IS_OFF)
    return mail


def person_of(mail: Mail) -> User | None:
    """The person of a mail, if they are active and its address is still theirs."""
    user = session.get(User, mail.user_id) if mail.user_id else None
    is_theirs = user is not None and user.is_active and user.email == mail.address
    return user if is_theirs else None


def _confirmation(mail: Mail) -> Letter | None:
    user, token, settings = person_of(mail), outbox.stored_token(mail), current_settings()
    if user is None or user.email_confirmed_at is not None or token is None or _is_over(mail):
        return None
    return Letter(
        subject=messages.confirm_subject(settings.app_name),
        heading=messages.CONFIRM_HEADING,
        paragraphs=(
            messages.confirm_text(user.username, settings.app_name),
            messages.LINK_WORKS_A_DAY,
        ),
        button=(messages.CONFIRM_BUTTON, f"{settings.base_url}/mail/confirm/{token}"),
        reason=messages.CONFIRM_REASON,
    )


def _changed(mail: Mail) -> Letter | None:
    user, settings = session.get(User, mail.user_id), current_settings()
    if user is None or user.email == mail.address:
        return None
    return Letter(
        subject=messages.changed_subject(settings.app_name),
        heading=messages.CHANGED_HEADING,
        paragraphs=(messages.changed_text(user.username, settings.app_name),),
        reason=messages.CHANGED_REASON,
    )


def _prepare_reset(mail: Mail) -> bool:
    """Find the person with this address and make the link; False if nobody has it.

    The link belongs to the mail. Anybody can request it, so it must not end the person's links.
    Whom only the provider logs in gets none, or would keep a way in once removed there.
    """
    if mail.user_id is not None:
        return True
    user = session.scalar(
        select(User).where(
            User.email == mail.address,
            User.email_confirmed_at.is_not(None),
            User.is_active,
            User.type == UserType.HUMAN,
        )
    )
    if user is None:
        return False
    credentials.lock_exclusive(user.id)
    mail.user_id = user.id
    if _needs_provider(user):
        return True
    mail.token_hash = credentials.hashed(outbox.token_of(mail.id))
    record(SYSTEM, "user.updated", Target("user", user.id), password_link_issued=True)
    return True


def _needs_provider(user: User) -> bool:
    """Whether the person logs in at the provider and has no password."""
    if user.password_hash is not None or not current_settings().oidc_issuer:
        return False
    return bool(session.scalar(select(exists().where(ProviderIdentity.user_id == user.id))))


def _reset(mail: Mail) -> Letter | None:
    user, link, settings = person_of(mail), _password_link(mail), current_settings()
    if user is None or user.email_confirmed_at is None:
        return None
    if _needs_provider(user):
        return Letter(
            subject=messages.provider_subject(settings.app_name),
            heading=messages.PROVIDER_HEADING,
            paragraphs=(messages.provider_text(user.username),),
            button=(messages.PROVIDER_BUTTON, f"{settings.base_url}/login"),
            reason=messages.RESET_REASON,
        )
    if link is None:
        return None
    return Letter(
        subject=messages.reset_subject(settings.app_name),
        heading=messages.RESET_HEADING,
        paragraphs=(messages.reset_text(user.username),),
        button=(messages.PASSWORD_BUTTON, link),
        reason=messages.RESET_REASON,
    )


def _invitation(mail: Mail) -> Letter | None:
    user, link, settings = person_of(mail), _password_link(mail), current_settings()
    if user is None or user.password_hash is not None or link is None:
        return None
    return Letter(
        subject=messages.invitation_subject(settings.app_name),
        heading=messages.invitation_heading(settings.app_name),
        paragraphs=(messages.invitation_text(user.username),),
        button=(messages.PASSWORD_BUTTON, link),
        reason=messages.INVITATION_REASON,
    )


def _password_link(mail: Mail) -> str | None:
    """The URL of this mail's link; None if the link no longer works."""
    token = outbox.stored_token(mail)
    if token is None or password_links.owner_of(token) is None:
        return None
    return f"{current_settings().base_url}/password/{token}"


def _is_over(mail: Mail) -> bool:
    return mail.created_at + LIFETIME_MS <= now_ms()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a confirmation link confirms: a person's address, and whether it is confirmed yet."""

    username: str
    address: str
    is_confirmed: bool


@operation(Access.PUBLIC)
def confirmation_of(actor: Actor, token: str) -> Confirmation:
    """What this link confirms; raises NotFound."""
    user = _person(token)
    return Confirmation(user.username, user.email or "", user.email_confirmed_at is not None)


@operation(Access.PUBLIC)
def confirm(actor: Actor, token: str) -> None:
    """Confirm the address to which the link was mailed; raises NotFound."""
    user = _person(token)
    emails.confirm(human_actor(user), user)


def _person(token: str) -> User:
    mail = outbox.by_token(token, MailKind.CONFIRM)
    user = person_of(mail) if mail is not None and not _is_over(mail) else None
    if user is None:
        raise NotFound("mail_link", REDACTED)
    return user


@operation(Access.HUMAN)
def send_again(actor: Actor) -> None:
    """Mail a link for one's own address again; raises RateLimited after many."""
    user = session.get_one(User, actor.id)
    if outbox.is_on() and emails.proven(user) != user.email and not ask_to_confirm(user):
        raise RateLimited(HOUR_MS // 1000)
