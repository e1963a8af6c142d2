"""jsonpath's .datetime(): dates and times of texts, and how they compare.

PostgreSQL tries the forms of ISO 8601 one after the other; a zone is hours, perhaps with minutes. A moment is a JSON
string that remembers what it means. What has a zone and what has none compare in the session's zone, which only the
functions whose names end in `_tz` may use. Source: PostgreSQL 15's jsonpath_exec.c.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np

from risingpy.errors import SqlError
from risingpy.functions.topics.jsonpath.error import PathError
from risingpy.types.jsonb import Json, Number
from risingpy.types.time_zones import time_zone

# Blanks before a number mean nothing, but for those of a fraction, which are zeros.
_DATE = r"\s*(?P<year>\d{1,4})-\s*(?P<month>\d{1,2})-\s*(?P<day>\d{1,2})"
_TIME = r"\s*(?P<hour>\d{1,2}):\s*(?P<minute>\d{1,2}):\s*(?P<second>\d{1,2})(?:\.(?P<fraction> {0,5}\d{1,6}))?"
_ZONE = r"(?:(?P<sign>-)|\s*\+)\s*(?P<zone_hours>\d{1,2})(?::\s*(?P<zone_minutes>\d{1,2}))?"
_CLOCK = f"{_TIME}(?:{_ZONE})?"
_FORM = re.compile(f"{_DATE}(?:[ T]{_CLOCK})?|{_CLOCK.replace('?P<', '?P<t_')}", re.ASCII)
_EPOCH = date(1970, 1, 1)
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_LARGEST_ZONE = 16 * 3600 - 1  # seconds
_NAMES = {
    "date": "date",
    "time": "time without time zone",
    "timetz": "time with time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
}
_OF_DAYS = frozenset({"date", "timestamp", "timestamptz"})
_ZONED = frozenset({"timetz", "timestamptz"})


class Moment(str):
    """A date or time as PostgreSQL writes it; `micros` of its wall clock, `offset` seconds east of Greenwich."""

    kind: str
    micros: int
    offset: int

    @property
    def type_name(self) -> str:
        return _NAMES[self.kind]


def text_item(item: Json) -> str:
    """The item, if it is a text. Raises PathError."""
    if not isinstance(item, str) or isinstance(item, Number | Moment):
        raise PathError("jsonpath item method .datetime() can only be applied to a string", sqlstate="22031")
    return item


def moment(item: Json) -> Moment:
    """The result of .datetime() for a text. Raises PathError for any other item or text."""
    item = text_item(item)
    found = _FORM.fullmatch(item)
    made = None if found is None else _made({name.removeprefix("t_"): v for name, v in found.groupdict().items() if v})
    if made is None:
        hint = "Use a datetime template argument to specify the input data format."
        raise PathError(f'datetime format is not recognized: "{item}"', sqlstate="22031", hint=hint)
    return made


def _made(fields: dict[str, str]) -> Moment | None:
    """The moment of the fields of a text; None if one is out of range."""
    hour, minute, second = (int(fields.get(name, 0)) for name in ("hour", "minute", "second"))
    offset = int(fields.get("zone_hours", 0)) * 3600 + int(fields.get("zone_minutes", 0)) * 60
    if hour > 23 or minute > 59 or second > 59 or int(fields.get("zone_minutes", 0)) > 59 or offset > _LARGEST_ZONE:
        return None
    fraction = fields.get("fraction", "").replace(" ", "0").ljust(6, "0")
    micros = (hour * 3600 + minute * 60 + second) * _SECOND + int(fraction)
    kind = "date" if "hour" not in fields else "timestamp" if "year" in fields else "time"
    if "year" in fields:
        try:
            day = date(int(fields["year"]), int(fields["month"]), int(fields["day"]))
        except ValueError:
            return None
        micros += (day - _EPOCH).days * _DAY
    kind += "tz" if "zone_hours" in fields else ""
    return made_moment(kind, micros, -offset if fields.get("sign") == "-" else offset)


def made_moment(kind: str, micros: int, offset: int) -> Moment:
    """The moment of this kind. Raises PathError outside of the years 1 to 9999."""
    try:
        made = Moment(_text(kind, micros, offset))
    except OverflowError:
        raise PathError("date out of range", sqlstate="22008") from None
    made.kind, made.micros, made.offset = kind, micros, offset
    return made


def _text(kind: str, micros: int, offset: int) -> str:
    days, rest = divmod(micros, _DAY)
    day = (_EPOCH + timedelta(days=days)).isoformat()
    if kind == "date":
        return day
    seconds, fraction = divmod(rest, _SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    text += f".{fraction:06d}".rstrip("0") if fraction else ""
    if kind in _ZONED:
        text += f"{'-' if offset < 0 else '+'}{abs(offset) // 3600:02d}:{abs(offset) // 60 % 60:02d}"
    return f"{day}T{text}" if kind in _OF_DAYS else text


def order(left: Moment, right: Moment, zone: str | None) -> int | None:
    """Below, equal (0) or above; None of a date and a time of day. `zone` is the session's, where it may be used."""
    if (left.kind in _OF_DAYS) != (right.kind in _OF_DAYS):
        return None
    zoned = {left.kind in _ZONED, right.kind in _ZONED}
    if len(zoned) == 2:
        bare, other = (right, left) if left.kind in _ZONED else (left, right)
        if zone is None or bare.kind == "time":
            message = f"cannot convert value from {bare.kind} to {other.kind} without time zone usage"
            raise SqlError(message, sqlstate="0A000", hint="Use *_tz() function for time zone support.")
    a, b = (_instant(each, zone) if True in zoned else each.micros for each in (left, right))
    if a == b and left.kind == right.kind == "timetz":  # then the zone farther west is the greater
        return (left.offset < right.offset) - (left.offset > right.offset)
    return (a > b) - (a < b)


def _instant(each: Moment, zone: str | None) -> int:
    if each.kind in _ZONED:
        return each.micros - each.offset * _SECOND
    assert zone is not None
    return int(time_zone(zone).to_utc(np.array([each.micros]))[0])
