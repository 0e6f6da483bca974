"""Stems of English words, after M. F. Porter, "An algorithm for suffix stripping" (1980).

Both databases search the same stems, because neither makes them. A word that is not English is
treated as if it were, alike in texts and in queries, so at worst two endings count as the same.
"""

import re
from functools import lru_cache

_WORD = re.compile(r"[a-z]{3,}")
_VOWELS = "aeiou"

_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize")),
    *(("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous")),
    *(("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al")),
    *(("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al")),
    *(("iviti", "ive"), ("biliti", "ble")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic")),
    *(("ful", ""), ("ness", "")),
)
_STEP_4 = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti"),
    *("ous", "ive", "ize", "al", "er", "ic", "ou"),
)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a folded word; words of other letters than a to z are their own stems."""
    if not _WORD.fullmatch(word):
        return word
    word = _plurals_and_participles(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    word = _without_suffix(word)
    return _tidied(word)


def _letters(word: str) -> str:
    """The word as a string of c (consonant) and v (vowel); y after a consonant is a vowel."""
    found = ""
    for letter in word:
        is_vowel = letter in _VOWELS or (letter == "y" and found[-1:] == "c")
        found += "v" if is_vowel else "c"
    return found


def _measure(word: str) -> int:
    """How often a consonant follows a vowel: Porter's m."""
    return _letters(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "v" in _letters(word)


def _is_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last none of w, x, y: Porter's *o."""
    return _letters(word).endswith("cvc") and word[-1] not in "wxy"


def _doubled(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _letters(word)[-1] == "c"


def _plurals_and_participles(word: str) -> str:
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _has_vowel(rest):
            return _mended(rest)
    return word


def _mended(word: str) -> str:
    """What is left when -ed or -ing is gone, given back its e or robbed of its double."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _doubled(word) and word[-1] not in "lsz":
        return word[:-1]
    if _measure(word) == 1 and _is_short(word):
        return word + "e"
    return word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """The word with the first of these endings that it has replaced, where enough is left."""
    for ending, other in endings:
        if word.endswith(ending):
            rest = word.removesuffix(ending)
            return rest + other if _measure(rest) > 0 else word
    return word


def _without_suffix(word: str) -> str:
    if word.endswith(("sion", "tion")):
        return word[:-3] if _measure(word[:-3]) > 1 else word
    for ending in _STEP_4:
        if word.endswith(ending):
            rest = word.removesuffix(ending)
            return rest if _measure(rest) > 1 else word
    return word


def _tidied(word: str) -> str:
    """The word without a last e, and with one l for two, where enough is left."""
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _is_short(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
