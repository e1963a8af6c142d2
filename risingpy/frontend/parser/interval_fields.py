"""Intervals as written with the fields that they have: INTERVAL '10' MINUTE, INTERVAL '1 12:30' DAY TO MINUTE."""

from __future__ import annotations

import re
from dataclasses import dataclass

FIELDS = ("year", "month", "day", "hour", "minute", "second")
RANGES = frozenset({"year to month", "day to hour", "day to minute", "day to second"})
RANGES |= {"hour to minute", "hour to second", "minute to second"}

_WHOLE = re.compile(r"\s*[-+]?\d+\s*")
_ENDS_BARE = re.compile(r"(?:^|\s)[-+]?(?:\d+\.?\d*|\.\d+)\s*$")  # in a number without a unit
_TWO_BARE = re.compile(r"\s*([-+]?\d+)\s+([-+]?\d+(?:\.\d*)?)\s*")
_TWO_PARTS = re.compile(r"\s*((?:[-+]?\d+\s+)?[-+]?)(\d+:\d+(?:\.\d*)?)\s*")


@dataclass(frozen=True, slots=True)
class IntervalText:
    """A text that says the same without the fields, and the field below which everything is cut off (None: nothing)."""

    text: str
    smallest: str | None


def interval_text(text: str, fields: str) -> IntervalText:
    """`text` as `fields` (one, a range of them, or none: "") have it read; other units than FIELDS are allowed too."""
    if not fields:
        return IntervalText(text, None)
    last = fields.rsplit(" ", 1)[-1]
    two_parts = _TWO_PARTS.fullmatch(text) if fields == "minute to second" else None
    if two_parts:
        text = f"{two_parts[1]}00:{two_parts[2]}"
    is_cut = last in FIELDS[:-1] and not (fields == last and _WHOLE.fullmatch(text))
    two_bare = _TWO_BARE.fullmatch(text)
    if two_bare and last == "hour":
        text = f"{two_bare[1]} day {two_bare[2]} hour"
    elif not two_bare and _ENDS_BARE.search(text):
        text = f"{text} {last}"
    return IntervalText(text, last if is_cut else None)
