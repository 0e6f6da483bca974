"""Records who wrote which value, and derives from that what a rewind must leave."""

from dataclasses import dataclass, field
from typing import Any

EXISTS = "exists"
# A subject (its kind and id), or one value of it.
Key = tuple[str, ...]


@dataclass
class Ledger:
    """The writes of the bot in its span and of people, and what a rewind must leave."""

    # By key, each value as (whether by the bot, value), oldest first; the first is the initial one.
    values: dict[Key, list[tuple[bool, Any]]] = field(default_factory=dict)
    created_by_bot: set[Key] = field(default_factory=set)
    # Subjects that anyone other than the bot wrote on.
    touched: set[Key] = field(default_factory=set)
    writes: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def start(self, key: Key, value: Any) -> None:
        self.values[key] = [(False, value)]

    def write(self, key: Key, value: Any, *, by_bot: bool) -> None:
        self.values[key].append((by_bot, value))
        if not by_bot:
            self.touched.add(key[:2])

    def create(self, subject: Key, *, by_bot: bool, **values: Any) -> None:
        """Record a new subject; one made by the bot exists only from the bot's write on."""
        self.values[(*subject, EXISTS)] = [(False, not by_bot)]
        if by_bot:
            self.created_by_bot.add(subject)
            self.values[(*subject, EXISTS)].append((True, True))
        for name, value in values.items():
            self.start((*subject, name), value)

    def now(self, key: Key) -> Any:
        return self.values[key][-1][1]

    def left(self, key: Key) -> Any:
        """Return the value that a rewind must leave."""
        return next(value for by_bot, value in reversed(self.values[key]) if not by_bot)

    def is_left(self, subject: Key) -> bool:
        """Return whether a rewind must leave the subject."""
        key = (*subject, EXISTS)
        if subject in self.created_by_bot and subject in self.touched:
            # People wrote on it, so only people may delete it.
            by_people = [value for by_bot, value in self.values[key][1:] if not by_bot]
            return by_people[-1] if by_people else True
        return bool(self.left(key))
