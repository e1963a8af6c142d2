"""Long lists of constants or parameters, `IN (1, 2, …)`: one token. A tree of each takes longest of all.

So are the rows of `VALUES ($1, $2), ($3, $4), …` after the first, if all are like it: ORMs write such texts.
"""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

LITERALS = TokenType.HIVE_TOKEN_STREAM  # of the items' text; no SQL that we read has a token of this type
SHORTEST = 32  # items; shorter lists are read as everything else
_NUMBER = r"-?\d++(?:\.\d++)?+"
_TEXT = r"'[^']*+(?:''[^']*+)*+'"
_PARAMETER = r"\$\d++"
_KINDS = (_NUMBER, _TEXT, _PARAMETER)
_LISTS = [re.compile(rf"(?:\s*+{item}\s*+,){{{SHORTEST - 1},}}+\s*+{item}\s*+(?=\))") for item in _KINDS]
_ITEMS = re.compile("|".join(_KINDS[::-1]))


# A parameter, perhaps with a cast: `$1 :: numeric(10, 2)`. The group is the cast.
_CELL = re.compile(r"\s*+\$\d++\s*+((?:::\s*+[a-zA-Z_][\w ]*+(?:\(\s*+\d++\s*+(?:,\s*+\d++\s*+)?\)\s*+)?)?)([,)])")
_NUMBERS = re.compile(r"\$(\d++)")
FEWEST_ROWS = 16  # after the first


class LiteralList(exp.Expression):
    """`this` is the text of the items: all numbers, all plain texts, or all parameters."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def end_of_literals(sql: str, start: int) -> int | None:
    """Where the list ends that begins at `start`, after its parenthesis; None if none of the long ones does."""
    found = next((match for pattern in _LISTS if (match := pattern.match(sql, start))), None)
    return None if found is None else found.end()


def items_of(text: str) -> tuple[list[str], list[int]]:
    """The items as they are written, and where in the text each of them begins."""
    found = [(match.group(), match.start()) for match in _ITEMS.finditer(text)]
    return [item for item, _ in found], [start for _, start in found]


def ends_of_rows(sql: str, start: int) -> tuple[int, int] | None:
    """Where the first row of VALUES and the last one end; the first begins at `start`, after its parenthesis.

    None unless there are many rows, each of parameters alone, with the same casts.
    """
    cells, end, last = [], start, ""
    while last != ")":
        found = _CELL.match(sql, end)
        if found is None:
            return None
        cast, last = found.groups()
        cells.append(rf"\s*+\$\d++\s*+{re.escape(cast)}")
        end = found.end()
    row = rf"\s*+,\s*+\({','.join(cells)}\)"
    rows = re.compile(rf"(?:{row}){{{FEWEST_ROWS},}}+(?!\s*+,)").match(sql, end)  # a row of another kind may follow
    return None if rows is None else (end, rows.end())


def parameters_of(rows: str) -> list[int]:
    """The numbers of the parameters in the rows after the first, in their order."""
    return [int(number) for number in _NUMBERS.findall(rows)]
