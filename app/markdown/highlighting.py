"""Code in colours: Pygments, for languages that people name, never guessed."""

from functools import cache
from html import escape

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Longer blocks, and all blocks behind this much code, are shown in one colour.
LONGEST = 16_384
MOST = 65_536

# Languages whose lexers take linear time, and not much of it, over hostile text (measured by
# tests/markdown/test_time.py). Aliases of Pygments; all others are shown in one colour.
_NAMES = """
    bash sh shell zsh console shell-session powershell ps1 fish bat batch
    c c++ cpp h csharp cs go golang java kotlin kt rust rs swift scala zig
    python py python3 pycon pytb ruby rb perl pl php lua r julia elixir erlang haskell hs clojure
    javascript js jsx typescript ts tsx json jsonc yaml yml toml ini cfg dotenv properties
    html xml svg css scss sass less
    sql postgresql postgres psql mysql sqlite3 graphql
    diff patch udiff docker dockerfile make makefile cmake nginx apache terraform hcl
    http text plain plaintext tex latex vim protobuf proto awk sed
"""
LANGUAGES = frozenset(_NAMES.split())


@cache
def _formatter() -> "HtmlFormatter[str]":
    return HtmlFormatter(nowrap=True)


@cache
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def highlighted(code: str, language: str, spent: int = 0) -> str:
    """The code as HTML: coloured if its language is known and it is not too long."""
    name = language.lower()
    if name in LANGUAGES and len(code) < LONGEST and spent + len(code) <= MOST:
        lexer = _lexer(name)
        if lexer is not None:
            return highlight(code, lexer, _formatter())
    return escape(code)
