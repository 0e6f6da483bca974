"""The patterns of what stands inside a paragraph. Every one is bounded, so reading is linear."""

import re

KEY = r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,18}+"
PUNCTUATION = r"[!-/:-@\[-`{-~]"
MENTION = (
    rf"(?P<wiki>\[\[(?:ticket:(?P<ticket>{KEY})"
    r"|(?=[a-z0-9-]{1,128}+(?:\\?\||\]))(?P<slug>[a-z0-9]++(?:-[a-z0-9]++)*+))"
    # In a table the bar has a backslash, or it would end the cell.
    r"(?:\\?\|(?P<shown>[^\[\]\n]{1,300}+))?\]\])"
    # Not inside a word, a path or a longer number; emphasis marks around it do not count.
    rf"|(?P<bare>(?<![^\W_])(?<![^\W_]_)(?<![-./\\@#&=%+]){KEY}(?![^\W_]|_[^\W_]|-|\.[0-9]))"
)
URL = r"(?P<url>(?<![^\W_])https?://[^\s<>|`]++)"
STARTS = re.compile(
    rf"(?P<escape>(?:\\{PUNCTUATION})++)|(?P<slash>\\\n?)|(?P<ticks>`++)|{MENTION}"
    r"|(?P<bracket>!?\[)"
    r"|<(?P<auto>(?:https?://|mailto:)[^\s<>]{1,2000}+|[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++)>"
    rf"|{URL}|(?P<entity>&(?:\#[0-9]{{1,7}}+|\#[xX][0-9a-fA-F]{{1,6}}+|[A-Za-z][A-Za-z0-9]{{1,31}}+);)"
    r"|(?P<line>(?:(?<!\ )\ {2,}+)?\n)"
)
SIMPLE = re.compile(rf"(?P<escape>(?:\\{PUNCTUATION})++)|(?P<ticks>`++)|{URL}|{MENTION}")
BRACKETS = re.compile(rf"\\{PUNCTUATION}|(?P<ticks>`++)|(?P<bracket>[\[\]])")
TICKS = re.compile("`+")
GAP = re.compile(r"\n[ \t]*\n")
ADDRESS = re.compile(
    r"\(\s{0,10}+(?:<(?P<angle>[^<>\n]{0,2000}+)>"
    rf"|(?P<plain>(?:[^\s()\\<]++|\\{PUNCTUATION}|\\|\((?:[^\s()\\]++|\\.)*+\))*+))"
    r"(?:\s{1,10}+(?:\"(?P<t1>(?:[^\"\\]|\\.){0,500}+)\"|'(?P<t2>(?:[^'\\]|\\.){0,500}+)'))?"
    r"\s{0,10}+\)"
)
ESCAPED = re.compile(rf"\\({PUNCTUATION})")
LABEL = re.compile(r"\[([^\[\]]{0,200}+)\]")
