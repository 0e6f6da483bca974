"""Texts with the statistics of human writing: few words are common, most are rare.

The words are generated, so no word list is needed; they have English endings, and their frequencies
follow Zipf's law. The same seed gives the same texts.
"""

import random
from dataclasses import dataclass, field
from itertools import accumulate

STARTS = ("b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n")
STARTS += ("p", "pl", "pr", "qu", "r", "s", "sh", "sl", "st", "str", "t", "th", "tr", "v", "w", "y")
MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "ou", "oo")
ENDS = (
    "",
    "b",
    "ck",
    "d",
    "ft",
    "g",
    "l",
    "ll",
    "m",
    "n",
    "nd",
    "nt",
    "p",
    "r",
    "rk",
    "s",
    "t",
    "x",
)
ENDINGS = ("", "", "", "", "s", "ed", "ing", "er", "ly", "ness", "able", "ation", "ment", "ful")
VOCABULARY = 30_000
# Every text of this many words contains this one.
EVERYWHERE = "ticket"


@dataclass
class Writer:
    """Writes texts that depend on the seed, with a common vocabulary."""

    seed: int = 1
    words: list[str] = field(init=False)
    _random: random.Random = field(init=False)
    _weights: list[float] = field(init=False)

    def __post_init__(self) -> None:
        # All writers share the vocabulary, so that queries of one match texts of another.
        self._random = random.Random(1)
        found: dict[str, None] = {}
        while len(found) < VOCABULARY:
            found[self._word()] = None
        self.words = list(found)
        self._random.seed(self.seed)
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))

    def _word(self) -> str:
        pick = self._random.choice
        stem = "".join(
            pick(STARTS) + pick(MIDDLES) + pick(ENDS) for _ in range(pick((1, 1, 2, 2, 3)))
        )
        return stem + pick(ENDINGS)

    def some(self, count: int) -> list[str]:
        """Return this many words, distributed by Zipf's law."""
        return self._random.choices(self.words, cum_weights=self._weights, k=count)

    def title(self) -> str:
        """Return three to nine words."""
        return " ".join(self.some(self._random.randint(3, 9))).capitalize()

    def body(self, length: int = 200) -> str:
        """Return paragraphs of about ``length`` words that include EVERYWHERE."""
        wanted = max(1, round(self._random.gauss(length, length / 3)))
        found = [*self.some(wanted), EVERYWHERE]
        sentences = [" ".join(found[at : at + 12]).capitalize() for at in range(0, len(found), 12)]
        paragraphs = [". ".join(sentences[at : at + 4]) for at in range(0, len(sentences), 4)]
        return ".\n\n".join(paragraphs) + "."
