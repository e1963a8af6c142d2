"""Estimates how long Python's `re` may search, from the form of a pattern. Its engine tries every way to match, and
holds the interpreter meanwhile, so that one search of `(a+)+$` would stop the whole server for hours.

The steps grow with a power of the text's length, one for each repetition without a near end, and are doubled by each
character where a repetition repeats another, or alternatives.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _parser as parser  # type: ignore[attr-defined] # what `re.compile` reads patterns with
from typing import Any

_FEW = 10  # repetitions that hardly matter
_EXPONENTIAL = 100
_MOST_STEPS = 5_000_000  # a quarter of a second


def may_take_long(pattern: str, flags: int, longest: int, rows: int, extra: int) -> bool:
    """Whether searching `rows` texts of up to so many characters may take long; `extra` loops are around the search."""
    degree = _degree(pattern, flags)
    if degree >= _EXPONENTIAL:
        return longest > _FEW
    return (max(longest, 1) ** (degree + 1 + extra)) * rows > _MOST_STEPS and degree + extra > 0


@lru_cache(maxsize=1024)
def _degree(pattern: str, flags: int) -> int:
    return _degree_of(parser.parse(pattern, flags & ~re.DEBUG))


def _degree_of(parts: Any) -> int:
    """Of a sequence: what its parts have, together."""
    return sum(_part(str(kind), value) for kind, value in parts)


def _part(kind: str, value: Any) -> int:
    match kind:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            _, most, repeated = value
            inner = _degree_of(repeated)
            if int(most) <= _FEW:
                return inner * int(most)
            return _EXPONENTIAL if inner or _branches(repeated) else 1
        case "SUBPATTERN":
            return _degree_of(value[-1])
        case "BRANCH":
            return max(map(_degree_of, value[1]))
        case "ASSERT" | "ASSERT_NOT":
            return _degree_of(value[1])
        case "ATOMIC_GROUP":
            return _degree_of(value)
        case "GROUPREF":
            return 1
    return 0


def _branches(parts: Any) -> bool:
    return any(str(kind) == "BRANCH" or (str(kind) == "SUBPATTERN" and _branches(value[-1])) for kind, value in parts)
