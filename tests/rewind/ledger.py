"""Who wrote which value, and by that alone what a rewind has to leave of it."""

from dataclasses import dataclass, field
from typing import Any

EXISTS = "exists"
# A subject (its kind and id), or one value of it.
Key = tuple[str, ...]


@dataclass
class Ledger:
    """Who wrote what: the bot's writes in its span, and those that stand."""

    # The values by key, as (whether by the bot, value), oldest first; the first is the initial one.
    values: dict[Key, list[tuple[bool, Any]]] = field(default_factory=dict)
    created_by_bot: set[Key] = field(default_factory=set)
    # Subjects on which anyone but the bot wrote.
    touched: set[Key] = field(default_factory=set)
    writes: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def start(self, key: Key, value: Any) -> None:
        self.values[key] = [(False, value)]

    def write(self, key: Key, value: Any, *, by_bot: bool) -> None:
        self.values[key].append((by_bot, value))
        if not by_bot:
            self.touched.add(key[:2])

    def create(self, subject: Key, *, by_bot: bool, **values: Any) -> None:
        """A new subject; the bot's own is there from the bot's write on, and so are its values."""
        self.values[(*subject, EXISTS)] = [(False, not by_bot)]
        if by_bot:
            self.created_by_bot.add(subject)
            self.values[(*subject, EXISTS)].append((True, True))
        for name, value in values.items():
            self.start((*subject, name), value)

    def now(self, key: Key) -> Any:
        return self.values[key][-1][1]

    def left(self, key: Key) -> Any:
        """What a rewind has to leave of a value."""
        return next(value for by_bot, value in reversed(self.values[key]) if not by_bot)

    def is_left(self, subject: Key) -> bool:
        """Whether a rewind has to leave the subject."""
        key = (*subject, EXISTS)
        if subject in self.created_by_bot and subject in self.touched:
            # Only whoever wrote on it may end it now.
            by_people = [value for by_bot, value in self.values[key][1:] if not by_bot]
            return by_people[-1] if by_people else True
        return bool(self.left(key))
