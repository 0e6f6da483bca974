"""Who the people of another tracker are here."""

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import select

from app.accounts.models import User
from app.database.session import session


class People:
    """Active users who may see the project, by the names that a file may have for them."""

    def __init__(self, project_id: str, known_as: Mapping[str, str]) -> None:
        rows = session.execute(
            select(User.id, User.username, User.display_name, User.project_ids)
            .where(User.is_active)
            .order_by(User.id)
        ).all()
        seen = [row for row in rows if not row.project_ids or project_id in row.project_ids]
        shared = Counter(_key(row.display_name) for row in seen)
        self._ids = {
            _key(row.display_name): row.id for row in seen if shared[_key(row.display_name)] == 1
        }
        self._ids.update({_key(row.username): row.id for row in seen})
        self.unknown = [
            username for username in known_as.values() if _key(username) not in self._ids
        ]
        self.names = {row.id: row.username for row in seen}
        self._ids.update(
            {
                _key(name): self._ids[_key(username)]
                for name, username in known_as.items()
                if _key(username) in self._ids
            }
        )

    def find(self, name: str) -> str | None:
        """The id of the user of this name: as told, else a username, else a display name."""
        return self._ids.get(_key(name)) if name else None


def _key(name: str) -> str:
    return name.strip().removeprefix("@").casefold()
