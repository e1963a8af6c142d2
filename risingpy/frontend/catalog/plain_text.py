"""Takes out of a system query what sqlglot does not parse, and what means nothing here.

c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default   =>   c.relname ~ '^(t)$'
x::pg_catalog.regclass, pg_catalog.pg_class                           =>   x::regclass, pg_class
$1::oid[]                                                             =>   $1::_oid
relname !~ ALL ($1)                                                   =>   relname ~ ALL (NOT $1)

The last is no SQL: sqlglot makes the same tree of `x !~ ALL (y)` and `NOT x ~ ALL (y)`, and the NOT inside, which
`patterns.py` understands, tells them apart.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from risingpy.frontend.parser.tokenize import tokenize, with_blanks


def plain_text(sql: str) -> str:
    """The query without qualified operators, collations and `pg_catalog.` (which is searched first anyway)."""
    sql = with_blanks(sql)
    tokens = tokenize(sql)
    cuts: list[tuple[int, int, str]] = []  # start, end, replacement
    i = 0
    while i < len(tokens):
        taken, replacement = _special(tokens, i)
        if taken:
            cuts.append((tokens[i].start, tokens[i + taken - 1].end + 1, replacement))
        i += max(taken, 1)
    parts, position = [], 0
    for start, end, replacement in cuts:
        parts += [sql[position:start], replacement]
        position = end
    return "".join([*parts, sql[position:]])


def _special(tokens: list[Token], i: int) -> tuple[int, str]:
    """How many tokens from `i` on are replaced, and by what; 0 if none."""
    if tokens[i].token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return 0, ""
    words = [token.text.lower() for token in tokens[i : i + 9]]
    match words:
        case ["operator", "(", "pg_catalog", ".", "!", "~" | "~*" as symbol, ")", "any" | "some" | "all" as word, "("]:
            return 9, f" {symbol} {word} (NOT "
        case ["operator", "(", "pg_catalog", ".", "!", symbol, ")", *_]:
            return 7, f" !{symbol} "
        case ["operator", "(", "pg_catalog", ".", symbol, ")", *_]:
            return 6, f" {symbol} "
        case ["!", "~" | "~*" as symbol, "any" | "some" | "all" as word, "(", *_]:
            return 4, f" {symbol} {word} (NOT "
        case ["collate", "pg_catalog", ".", _, *_]:
            return 4, " "
        case ["collate", _, *_]:
            return 2, " "
        case ["pg_catalog", ".", *_] | ["information_schema", ".", "_pg_expandarray", *_]:
            return 2, ""
        case ["oid", "[", "]", *_]:
            return 3, "_oid"
        case _:
            return 0, ""
