"""Reads SQL as text, just enough to make views of queries and to translate statements for PostgreSQL.

The runner is a client: it has no parser of SQL, and needs none to find a statement's first words, the names in
it, and an ORDER BY outside all parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<blank>   \s+ | --[^\n]* | /\*.*?\*/ )
    | (?P<string>  [eE]?'(?:[^']|'')*' | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
    | (?P<quoted>  "(?:[^"]|"")*" )
    | (?P<word>    [^\W\d]\w* )
    | (?P<other>   \d[\w.]* | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_QUERY_COMMANDS = frozenset({"SELECT", "WITH", "VALUES", "("})
_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
_RELATION_KINDS = frozenset({"TABLE", "INDEX", "VIEW", "SOURCE", "TYPE"})


@dataclass(frozen=True, slots=True)
class SqlToken:
    """A word (upper case), a quoted name, a string or a sign; `depth` counts the parentheses around it."""

    kind: str
    text: str
    start: int
    depth: int


def tokens(sql: str) -> Iterator[SqlToken]:
    """The tokens of a statement, without blanks and comments."""
    depth = 0
    for match in _TOKEN.finditer(sql):
        kind = match.lastgroup or "other"
        if match.group("tag") is not None:
            kind = "string"
        if kind == "blank":
            continue
        text = match.group()
        if text == ")":
            depth -= 1
        yield SqlToken(kind, text.upper() if kind == "word" else text, match.start(), depth)
        if text == "(":
            depth += 1


def first_words(sql: str, count: int) -> list[str]:
    """The first tokens of a statement, in upper case."""
    words = []
    for token in tokens(sql):
        words.append(token.text)
        if len(words) == count:
            break
    return words


def split_statements(sql: str) -> list[str]:
    """The statements of a text, split at semicolons outside parentheses; empty ones are left out."""
    ends = [token.start for token in tokens(sql) if token.text == ";" and token.depth == 0]
    starts = [0, *(end + 1 for end in ends)]
    parts = [sql[start:end].strip() for start, end in zip(starts, [*ends, len(sql)], strict=True)]
    return [part for part in parts if first_words(part, 1)]


def is_query(sql: str) -> bool:
    """True for a statement that can come after `CREATE VIEW … AS`."""
    first = first_words(sql, 1)
    if first == ["WITH"]:
        return _word_after_with(sql) not in _WRITES and not _writes_within(sql)
    return bool(first) and first[0] in _QUERY_COMMANDS


def _word_after_with(sql: str) -> str:
    """What follows the common table expressions that a statement begins with."""
    closed = False
    for token in tokens(sql):
        if closed and token.text not in (",", "AS"):
            return token.text
        closed = token.text == ")" and token.depth == 0
    return ""


def _writes_within(sql: str) -> bool:
    """Whether a common table expression is a statement that writes: INSERT and its like are the first words in it."""
    last = ""
    for token in tokens(sql):
        if last == "(" and token.kind == "word" and token.text in _WRITES:
            return True
        last = token.text
    return False


def without_final_order(sql: str) -> str:
    """Cuts the query's own ORDER BY, which means nothing for a view, unless a LIMIT or a DISTINCT ON gives it one."""
    order: int | None = None
    last = ""
    for token in tokens(sql):
        decides = token.text in ("LIMIT", "OFFSET", "FETCH") or (last, token.text) == ("DISTINCT", "ON")
        if token.depth == 0 and decides:
            return _without_semicolon(sql)
        if token.depth == 0 and token.kind == "word" and token.text == "ORDER":
            order = token.start
        last = token.text
    return _without_semicolon(sql if order is None else sql[:order])


def names(sql: str) -> frozenset[str]:
    """Every name and keyword in a statement: unquoted in lower case, quoted as written."""
    return frozenset(_name(token) for token in tokens(sql) if token.kind in ("word", "quoted"))


def defined_relation(sql: str) -> str | None:
    """The table, view, index, source or type that a CREATE, ALTER or DROP names; None for other statements."""
    found = [token for token in tokens(sql) if token.kind in ("word", "quoted")][:12]
    if not found or found[0].text not in ("CREATE", "ALTER", "DROP"):
        return None
    kind = next((i for i, token in enumerate(found) if token.text in _RELATION_KINDS), None)
    if kind is None:
        return None
    rest = [token for token in found[kind + 1 :] if token.text not in ("IF", "NOT", "EXISTS")]
    return _name(rest[0]) if rest else None


def _name(token: SqlToken) -> str:
    return token.text[1:-1].replace('""', '"') if token.kind == "quoted" else token.text.lower()


def _without_semicolon(sql: str) -> str:
    return sql.rstrip().rstrip(";").rstrip()
