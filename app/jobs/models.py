"""Who sweeps what, and until when nobody else may."""

from sqlalchemy.orm import Mapped, mapped_column

from app.database.columns import Moment, short_text
from app.database.session import Base


class SweeperLease(Base):
    """The lease of one sweeper; it is over when it runs out or is given back."""

    __tablename__ = "sweeper_leases"

    sweeper: Mapped[str] = mapped_column(short_text(64), primary_key=True)
    owner: Mapped[str | None] = mapped_column(short_text(64))
    lease_until: Mapped[int] = mapped_column(Moment)
    last_run_at: Mapped[int | None] = mapped_column(Moment)
