"""Users of both kinds, their credentials and sessions, the login windows, and preferences."""

from enum import StrEnum

from sqlalchemy import (
    JSON,
    CheckConstraint,
    ForeignKey,
    Index,
    LargeBinary,
    Text,
    false,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Count, Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class UserType(StrEnum):
    HUMAN = "human"
    BOT = "bot"


class BotMode(StrEnum):
    READ = "read"
    WRITE = "write"


class User(Base):
    """A human or a bot. The bot columns are null for humans; only humans have a password."""

    __tablename__ = "users"
    __table_args__ = (
        one_of("type", UserType),
        CheckConstraint("bot_mode IS NULL OR bot_mode IN ('read', 'write')", name="bot_mode"),
        CheckConstraint("(type = 'bot') = (bot_mode IS NOT NULL)", name="bot_has_mode"),
        CheckConstraint("type = 'human' OR password_hash IS NULL", name="bot_has_no_password"),
        Index(None, "type", "created_at", "id"),
        Index("uq_users_email", "email", unique=True),
        Index(
            "ix_users_paused",
            "id",
            sqlite_where=text("is_paused"),
            postgresql_where=text("is_paused"),
        ),
    )

    id: Mapped[str] = id_key()
    type: Mapped[str] = mapped_column(short_text(8))
    username: Mapped[str] = mapped_column(short_text(64), unique=True)
    display_name: Mapped[str] = mapped_column(short_text())
    is_active: Mapped[bool] = mapped_column(default=True)
    password_hash: Mapped[str | None] = mapped_column(short_text(255))
    bot_mode: Mapped[str | None] = mapped_column(short_text(8))
    # The allowlist; an empty one admits every project. Deleted projects stay in it, as a deletion
    # must not empty the list.
    project_ids: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    can_edit_global_wiki: Mapped[bool | None]
    rate_limit_per_minute: Mapped[int | None]
    created_by_user_id: Mapped[str | None] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    # Bots only: the news that the bot has received (inbox/bot_news.py).
    news_cursor: Mapped[str | None] = mapped_column(Text)
    # Bots only: whether the bot can only read until a person resumes it, and when one last did.
    is_paused: Mapped[bool] = mapped_column(default=False, server_default=false())
    resumed_at: Mapped[int | None] = mapped_column(Moment)
    # Humans only: the address, in lower case, and when its owner confirmed it.
    email: Mapped[str | None] = mapped_column(short_text(254))
    email_confirmed_at: Mapped[int | None] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_bot(self) -> bool:
        return self.type == UserType.BOT


class BotToken(Base):
    """A bot's credential: a lookup prefix and a hash; the plaintext is never stored."""

    __tablename__ = "bot_tokens"
    __table_args__ = (
        Index(
            "uq_bot_tokens_active",
            "bot_user_id",
            unique=True,
            sqlite_where=text("is_active"),
            postgresql_where=text("is_active"),
        ),
        Index(None, "prefix"),
    )

    id: Mapped[str] = id_key()
    bot_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    prefix: Mapped[str] = mapped_column(short_text(8))
    token_hash: Mapped[str] = mapped_column(short_text(64))
    is_active: Mapped[bool] = mapped_column(default=True)
    issued_at: Mapped[int] = mapped_column(Moment)
    rotated_at: Mapped[int | None] = mapped_column(Moment)
    revoked_at: Mapped[int | None] = mapped_column(Moment)
    last_used_at: Mapped[int | None] = mapped_column(Moment)
    # When auth.bot.success was last written for this token.
    audited_at: Mapped[int | None] = mapped_column(Moment)


class UserSession(Base):
    """A human's browser session; the cookie's token is stored hashed."""

    __tablename__ = "sessions"
    __table_args__ = (
        Index(None, "user_id"),
        Index(None, "expires_at"),
        Index(
            "ix_sessions_identity_id",
            "identity_id",
            sqlite_where=text("identity_id IS NOT NULL"),
            postgresql_where=text("identity_id IS NOT NULL"),
        ),
    )

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    token_hash: Mapped[str] = mapped_column(short_text(64), unique=True)
    user_agent: Mapped[str] = mapped_column(short_text(200))
    created_at: Mapped[int] = mapped_column(Moment)
    last_seen_at: Mapped[int] = mapped_column(Moment)
    # The absolute end; the idle end is last_seen_at plus SESSION_IDLE_MINUTES.
    expires_at: Mapped[int] = mapped_column(Moment)
    # For single sign-on: the identity, and the hash of the provider's session, if it has one.
    identity_id: Mapped[str | None] = mapped_column(Id)
    provider_session_hash: Mapped[str | None] = mapped_column(short_text(64))
    # The passkey used to log in, if any; removing it ends the session.
    passkey_id: Mapped[str | None] = mapped_column(Id)


class PasswordLink(Base):
    """The one-time link with which a person chooses a password; its token is stored hashed.

    The key is the person: a new link replaces the previous one.
    """

    __tablename__ = "password_links"
    __table_args__ = (Index(None, "expires_at"),)

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    token_hash: Mapped[str] = mapped_column(short_text(64), unique=True)
    created_at: Mapped[int] = mapped_column(Moment)
    expires_at: Mapped[int] = mapped_column(Moment)
    # The address that it was mailed to, and not shown to anyone: using the link proves the address.
    mailed_to: Mapped[str | None] = mapped_column(short_text(254))


class SecondFactor(Base):
    """A person's authenticator app: the secret of its codes, encrypted under SECRET_KEY."""

    __tablename__ = "second_factors"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    sealed_secret: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(Moment)
    # Null until the first code is entered; until then, logins ask for none.
    enabled_at: Mapped[int | None] = mapped_column(Moment)
    # The time step of the last code, so that none works twice.
    last_step: Mapped[int] = mapped_column(Count)


class RecoveryCode(Base):
    """A code that replaces one of the authenticator app once; only its hash is kept."""

    __tablename__ = "recovery_codes"
    __table_args__ = (Index(None, "user_id"),)

    code_hash: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))


class Passkey(Base):
    """A WebAuthn credential that logs a person in: its public key and its signature counter."""

    __tablename__ = "passkeys"
    __table_args__ = (Index(None, "user_id", "created_at", "id"),)

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    # SHA-256 of the credential's id, which can be 1,023 bytes long.
    credential_hash: Mapped[str] = mapped_column(short_text(64), unique=True)
    # The attested credential data of WebAuthn: model, credential id and public key.
    credential: Mapped[bytes] = mapped_column(LargeBinary)
    # Signatures so far, as the authenticator counts them; 0 if it does not count.
    sign_count: Mapped[int] = mapped_column(Count)
    name: Mapped[str] = mapped_column(short_text())
    created_at: Mapped[int] = mapped_column(Moment)
    last_used_at: Mapped[int | None] = mapped_column(Moment)


class UsedToken(Base):
    """The hash of a token, kept until it expires.

    Challenges of passkeys, states of logins at a provider and ids of its logout tokens work once.
    What a logout token named is kept too (``sign_on/logout.py``).
    """

    __tablename__ = "used_tokens"
    __table_args__ = (Index(None, "expires_at"),)

    token_hash: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    expires_at: Mapped[int] = mapped_column(Moment)


class ProviderIdentity(Base):
    """An account at a provider, by its issuer and subject, and the person that it logs in."""

    __tablename__ = "identities"
    __table_args__ = (
        Index("uq_identities_subject", "issuer", "subject", unique=True),
        Index(None, "user_id"),
    )

    id: Mapped[str] = id_key()
    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    issuer: Mapped[str] = mapped_column(short_text(500))
    subject: Mapped[str] = mapped_column(short_text(255))
    # The provider's name for the account, to recognize it.
    name: Mapped[str] = mapped_column(short_text(254))
    created_at: Mapped[int] = mapped_column(Moment)


class FailureWindow(Base):
    """A minute of failed credentials of one client address and token prefix."""

    __tablename__ = "auth_failure_windows"
    __table_args__ = (Index(None, "began_at"),)

    key_hash: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    token_prefix: Mapped[str | None] = mapped_column(short_text(8))
    began_at: Mapped[int] = mapped_column(Moment)
    # Failures after the first, which has its own event.
    further: Mapped[int]


class LoginBucket(Base):
    """The attempts of one address or username within the sliding window."""

    __tablename__ = "login_buckets"
    __table_args__ = (Index(None, "updated_at"),)

    key_hash: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    # At most five [milliseconds, attempt id] pairs, 20 of an IPv6 /48, oldest first.
    hits: Mapped[list[list[int | str]]] = mapped_column(JSON)
    updated_at: Mapped[int] = mapped_column(Moment)
    # When auth.login.rate_limited was last written for this window.
    audited_at: Mapped[int | None] = mapped_column(Moment)


class Workspace(Base):
    """Settings of the whole installation, in at most one row; without it, none is set."""

    __tablename__ = "workspaces"

    id: Mapped[str] = id_key()
    # While set, every write of every bot is refused.
    bots_paused_at: Mapped[int | None] = mapped_column(Moment)
    bots_paused_by_user_id: Mapped[str | None] = mapped_column(Id)


class ReadMarker(Base):
    """The last event of a subject that a person has read; a subject is e.g. ``bot:<id>``."""

    __tablename__ = "read_markers"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    subject: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    event_id: Mapped[str] = mapped_column(Id)
    updated_at: Mapped[int] = mapped_column(Moment)


class BotRead(Base):
    """What a bot has read of ``ticket:<id>``, ``comments:<id>`` or ``page:<id>``.

    ``read_at`` and ``marks`` are for the news in answers of tools (``inbox/unread.py``), the rest
    is for receipts (``accounts/bot_reads.py``). In ``gap``, ``version`` is the time up to which
    reads may be missing.
    """

    __tablename__ = "bot_reads"
    __table_args__ = (Index(None, "seen_at"),)

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    subject: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    read_at: Mapped[int] = mapped_column(Moment)
    marks: Mapped[str] = mapped_column(Text)
    # The newest version of a ticket in ms, the newest revision of a page.
    version: Mapped[int] = mapped_column(Count, default=0, server_default=text("0"))
    # The marks of comments, or how far a long page was read.
    seen: Mapped[str] = mapped_column(Text, default="", server_default=text("''"))
    seen_at: Mapped[int] = mapped_column(Moment, default=0, server_default=text("0"))


class BotReader(Base):
    """A process that may hold reads of a bot in memory (``accounts/read_notes.py``)."""

    __tablename__ = "bot_readers"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    process_id: Mapped[str] = mapped_column(Id, primary_key=True)
    beat_at: Mapped[int] = mapped_column(Moment)


class Preferences(Base):
    """A person's choices about pages; a name that is missing has its default."""

    __tablename__ = "preferences"

    user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"), primary_key=True)
    choices: Mapped[dict[str, str | bool]] = mapped_column(JSON)
    updated_at: Mapped[int] = mapped_column(Moment)
