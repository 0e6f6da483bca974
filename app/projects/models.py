"""Projects, workflow states and labels."""

from enum import StrEnum

from sqlalchemy import ForeignKey, Index, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Id, Moment, id_key, one_of, short_text
from app.database.session import Base


class StateCategory(StrEnum):
    BACKLOG = "backlog"
    ACTIVE = "active"
    DONE = "done"


class Project(Base):
    """A project; its key stays reserved after deletion."""

    __tablename__ = "projects"
    __table_args__ = (Index(None, "created_at", "id"),)

    id: Mapped[str] = id_key()
    key: Mapped[str] = mapped_column(short_text(10), unique=True)
    name: Mapped[str] = mapped_column(short_text())
    description: Mapped[str] = mapped_column(Text)
    owner_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    # The number of the newest ticket; only create_ticket increments it, in one statement.
    ticket_counter: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    deleted_at: Mapped[int | None] = mapped_column(Moment)
    # When tickets last got new ranks without being moved (app/tickets/rank.py).
    ranks_spread_at: Mapped[int | None] = mapped_column(Moment)
    # Whether only people may move tickets into a state of category done (tickets/sign_off.py).
    sign_off: Mapped[bool] = mapped_column(default=False, server_default=false())
    # Where bots leave tickets for people to sign off. No foreign key, as states name their project;
    # the state cannot be deleted while it is named here.
    review_state_id: Mapped[str | None] = mapped_column(Id)
    # The most tickets, comments and files of one bot in ten minutes, or it is paused; 0: no limit
    # (tickets/runaways.py).
    bot_creation_limit: Mapped[int] = mapped_column(default=100, server_default=text("100"))

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None


class WorkflowState(Base):
    """A column of a project's board. Positions are 0, 1, 2... without gaps."""

    __tablename__ = "workflow_states"
    __table_args__ = (
        one_of("category", StateCategory),
        UniqueConstraint("project_id", "name_key"),
        Index(None, "project_id", "position"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(short_text())
    # The casefolded name, which is unique. Casefolding can triple the length.
    name_key: Mapped[str] = mapped_column(short_text(600))
    position: Mapped[int]
    category: Mapped[str] = mapped_column(short_text(16))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    # The recommended maximum of tickets; exceeding it is allowed, and shown.
    wip_limit: Mapped[int | None]

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}


class Label(Base):
    __tablename__ = "labels"
    __table_args__ = (
        UniqueConstraint("project_id", "name_key"),
        Index(None, "project_id", "created_at", "id"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str] = mapped_column(Id, ForeignKey("projects.id"))
    name: Mapped[str] = mapped_column(short_text())
    name_key: Mapped[str] = mapped_column(short_text(600))
    color: Mapped[str] = mapped_column(short_text(7))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}
