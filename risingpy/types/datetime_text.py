"""Reads dates and times as people write them: PostgreSQL's datetime input with DateStyle 'ISO, MDY'.

The text is cut into tokens (a time of day, a date, a word, a number, a zone), each of which fills fields of
`DateTimeFields`. Understood: ISO 8601 with blank or T, `20240102`, `1/2/2024`, `Jan 2, 2024`, `2-Jan-2024`,
`Jan-2-2024`, `2024-366` (a day of the year), `J2451187` (a Julian day), AM and PM, `allballs`, `Z`, numeric offsets,
IANA zone names, PostgreSQL's usual abbreviations of zones, weekday names, `epoch`, `infinity`, AD and BC, and years of
more than four digits. The words that read the clock (now, today, …) need a moment (`clocks.clock_words`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from risingpy.errors import InvalidParameterValue, InvalidTextRepresentation, SqlError
from risingpy.types.clocks.zone_abbreviations import ABBREVIATIONS, ZONE_OF
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.far_moments import END_DAYS, END_MICROS, JULIAN_1970, MIN_DAYS, MIN_MICROS, day_number
from risingpy.types.time_zones import seconds_east, time_zone

_TOKEN = re.compile(
    r"(?P<infinite>(?:-\s*)?[Ii][Nn][Ff][Ii][Nn][Ii][Tt][Yy](?![A-Za-z]))"
    r"|(?P<time>\d{1,2}:\d{0,2}(?::\d{0,2})?(?:\.\d*)?)"  # PostgreSQL takes a part that is missing for 0
    r"|(?P<day>\d{4}[-/.]\d{3}(?!\d))"
    r"|(?P<julian>[Jj]\d+(?:\.\d+)?)"
    r"|(?P<date>\d{1,8}[-/.]\d{1,2}[-/.]\d{1,8}|\d{1,4}-[A-Za-z]{3,9}-\d{1,4}|[A-Za-z]{3,9}-\d{1,2}-\d{1,4})"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<offset>[+-]\d{1,2}(?::\d{2}(?::\d{2})?|\d{2})?)"
    r"|(?P<posix>[A-Za-z]{3,}[+-]\d{1,2}(?::\d{2}(?::\d{2})?)?(?![\d:A-Za-z]))"  # a zone, where a plus is west
    r"|(?P<word>[A-Za-z]+(?:/[A-Za-z_]+(?:[-+/][A-Za-z_0-9]+)*)?)"
    r"|(?P<blank>[\s,]+)",
    re.ASCII,
)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july",
            "aug august", "sep sept september", "oct october", "nov november", "dec december",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_WEEKDAYS = frozenset(
    ("sun", "sunday", "mon", "monday", "tue", "tues", "tuesday", "wed", "weds", "wednesday", "thu", "thur", "thurs",
     "thursday", "fri", "friday", "sat", "saturday")
)  # fmt: skip
DAYS_OF_WORDS = {"now": 0, "today": 0, "tomorrow": 1, "yesterday": -1}  # words that read the clock
MAX_OFFSET_HOURS = 15  # of a zone, from Greenwich
_TIME_ALONE = re.compile(r"^\s*[Tt]?(\d\d)(\d\d)(\d\d(?:\.\d+)?|)(?![-/.\d])")


@dataclass(slots=True)
class DateTimeFields:
    """What a text says. `offset` is seconds east of Greenwich, or a zone's name, or None if the text names none.

    The year 0 is 1 BC. `days`, since 1970-01-01, are those of a Julian day or a day of a year: they stand for year,
    month and day. `clock` is a word such as `today`, which stands for them until `with_clock` has read it. `infinite`
    is 1 or -1 if the text says ±infinity; then no other field means anything. `fraction` is what the text says below a
    second, with all its digits, if it says something.
    """

    infinite: int = 0
    days: int | None = None
    is_before_christ: bool = False
    has_short_year: bool = False
    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int = 0
    second: int = 0
    microsecond: int = 0
    fraction: Fraction | None = None
    half: str | None = None
    offset: int | str | None = None
    clock: str | None = None


class _Malformed(Exception):
    """The text is no date or time."""


class _OutOfRange(Exception):
    """The text is well formed, but a field of it is too large or too small."""


class _TooFarFromGreenwich(Exception):
    """An offset of a zone that no zone has."""


def read_fields(type_name: str, text: str) -> DateTimeFields:
    """The fields of `text`. Raises PostgreSQL's errors: 22007 for bad syntax, 22008 for a field out of its range."""
    try:
        # A time of day may be written without colons; elsewhere such a number is a date.
        fields = _read(_TIME_ALONE.sub(_with_colons, text) if type_name == "time" else text)
        if type_name == "time" and fields.year is None and isinstance(fields.offset, str):
            _refuse_unless_fixed(fields.offset)
        return fields
    except _Malformed:
        raise malformed(type_name, text) from None
    except _OutOfRange:
        raise out_of_range(text) from None
    except _TooFarFromGreenwich:
        raise SqlError(f'time zone displacement out of range: "{text}"', sqlstate="22009") from None


def _refuse_unless_fixed(zone: str) -> None:
    """A time of day alone does not tell which distance from Greenwich a zone has."""
    if len(time_zone(zone).instants) > 1:
        raise _Malformed


def _with_colons(found: re.Match[str]) -> str:
    return ":".join(filter(None, found.groups()))


def malformed(type_name: str, text: str) -> InvalidTextRepresentation:
    """The error of a text that is no value of the type, 22007 (datetime_parse_error); the caller raises it."""
    return InvalidTextRepresentation(f'invalid input syntax for type {type_name}: "{text}"', sqlstate="22007")


def out_of_range(text: str) -> SqlError:
    """The error of a field beyond its range, such as month 13, 22008; the caller raises it."""
    return InvalidTextRepresentation(f'date/time field value out of range: "{text}"', sqlstate="22008")


def _read(text: str) -> DateTimeFields:
    fields = DateTimeFields()
    at = 0
    stripped = text.strip()
    while at < len(stripped):
        token = _TOKEN.match(stripped, at)
        if token is None:
            raise _Malformed
        at = token.end()
        value = token[0]
        match token.lastgroup:
            case "infinite" if not fields.infinite:
                fields.infinite = -1 if value.startswith("-") else 1
            case "infinite":
                raise _Malformed
            case "time":
                _take_time(fields, value)
            case "day":
                _take_day_of_year(fields, int(value[:4]), int(value[5:]))
            case "julian":
                _take_julian(fields, value[1:])
            case "date":
                _take_date(fields, value)
            case "number":
                _take_number(fields, value)
            case "offset":
                _take_offset(fields, value)
            case "posix" if re.split("[+-]", value)[0].lower() not in _MONTHS and fields.offset is None:
                fields.offset = _named_zone(value)
            case "word" | "posix":
                value = re.split("[+-]", value)[0] if token.lastgroup == "posix" else value
                at = token.start() + _take_word(fields, value)
            case _:
                pass
    _check(fields)
    return fields


def _take_time(fields: DateTimeFields, value: str) -> None:
    if fields.hour is not None:
        raise _Malformed
    hour, minute, *rest = value.split(":")
    if not rest and "." in minute:  # mm:ss.f
        hour, minute, rest = "0", hour, [minute]
    fields.hour, fields.minute = int(hour), int(minute or 0)
    if rest:
        _take_seconds(fields, rest[0])


def _take_seconds(fields: DateTimeFields, value: str) -> None:
    whole, _, fraction = value.partition(".")
    fields.second = int(whole or 0)
    # PostgreSQL rounds to microseconds, a half to the even one; a full second then carries.
    fields.fraction = Fraction(int(fraction or 0), 10 ** len(fraction))
    fields.microsecond = round(fields.fraction * 1_000_000)


def _take_date(fields: DateTimeFields, value: str) -> None:
    if fields.infinite or fields.day is not None or fields.year is not None or fields.hour is not None:
        raise _Malformed
    first, second, third = re.split(r"[-/.]", value)
    if not first.isdigit():
        fields.month = _MONTHS.get(first.lower())
        if fields.month is None:
            raise _Malformed
        fields.day = int(second)
        _take_year(fields, third)
    elif not second.isdigit():
        fields.month = _MONTHS.get(second.lower())
        if fields.month is None:
            raise _Malformed
        day, year = (first, third) if len(first) <= 2 else (third, first)
        fields.day = int(day)
        _take_year(fields, year)
    elif len(first) >= 3:
        fields.year, fields.month, fields.day = int(first), int(second), int(third)
    else:
        fields.month, fields.day = int(first), int(second)
        _take_year(fields, third)


def _take_day_of_year(fields: DateTimeFields, year: int, day: int) -> None:
    """Days behind the year's last one count on into the next, as in PostgreSQL."""
    if fields.day is not None or fields.year is not None:
        raise _Malformed
    if not (year >= 1 and 1 <= day <= 366):
        raise _OutOfRange
    _take_days(fields, day_number(year, 1, 1) + day - 1)


def _take_julian(fields: DateTimeFields, value: str) -> None:
    """The fraction of a Julian day is a time of that day, whose beginning is midnight here."""
    if fields.day is not None or fields.year is not None:
        raise _Malformed
    whole, _, fraction = value.partition(".")
    _take_days(fields, int(whole) - JULIAN_1970)
    if fraction:
        micros = int(Fraction(int(fraction), 10 ** len(fraction)) * MICROS_OF_DAY)
        seconds, fields.microsecond = divmod(micros, 1_000_000)
        fields.hour, fields.minute, fields.second = seconds // 3600, seconds // 60 % 60, seconds % 60


def _take_days(fields: DateTimeFields, days: int) -> None:
    if not MIN_DAYS <= days < END_DAYS:
        raise _OutOfRange
    fields.days = days
    fields.year = fields.month = fields.day = 1


def _take_year(fields: DateTimeFields, digits: str) -> None:
    """Two digits mean 1970 to 2069, unless they are before Christ: `_check` knows."""
    fields.year, fields.has_short_year = int(digits), len(digits) <= 2


def _take_number(fields: DateTimeFields, value: str) -> None:
    digits = value.partition(".")[0]
    if fields.day is not None and fields.year is not None and fields.hour is None and len(digits) in (4, 6):
        fields.hour, fields.minute = int(digits[:2]), int(digits[2:4])
        _take_seconds(fields, value[4:] or "0")
    elif "." in value:
        raise _Malformed
    elif len(digits) >= 6 and fields.month is None and fields.year is None:
        fields.month, fields.day = int(digits[-4:-2]), int(digits[-2:])
        _take_year(fields, digits[:-4])
    elif fields.day is None and len(digits) <= 2 and fields.month is not None:
        fields.day = int(digits)
    elif fields.day is not None and fields.month is None and len(digits) <= 2:
        fields.month, fields.day = fields.day, int(digits)  # of two numbers the first is the month
    elif fields.year is None and len(digits) >= 2 and (len(digits) > 2 or fields.day is not None):
        _take_year(fields, digits)
    elif fields.day is None and len(digits) <= 2:
        fields.day = int(digits)
    elif fields.half is None and fields.hour is None and fields.day is None and len(digits) <= 2:
        fields.hour = int(digits)
    else:
        raise _Malformed


def _take_offset(fields: DateTimeFields, value: str) -> None:
    if fields.offset is not None or (fields.hour is None and fields.day is None):
        raise _Malformed
    parts = value[1:].split(":")
    if len(parts) == 1 and len(parts[0]) > 2:
        parts = [parts[0][:-2], parts[0][-2:]]
    hours, minutes, seconds = (*(int(part) for part in parts), 0, 0)[:3]
    if hours > MAX_OFFSET_HOURS or minutes > 59 or seconds > 59:
        raise _TooFarFromGreenwich
    size = hours * 3600 + minutes * 60 + seconds
    fields.offset = -size if value.startswith("-") else size


def _take_word(fields: DateTimeFields, value: str) -> int:
    """Fills a field from a word, and returns how many of its characters it used."""
    word = value.lower()
    if word in _MONTHS and fields.month is None:
        fields.month = _MONTHS[word]
    elif word in ("am", "pm") and fields.hour is not None and fields.half is None:
        fields.half = word
    elif word in _WEEKDAYS or word in ("ad", "at") or (word == "t" and fields.hour is None):
        pass  # says nothing that the other tokens do not
    elif word in ABBREVIATIONS and fields.offset is None:
        fields.offset = ABBREVIATIONS[word]
    elif word in ZONE_OF and fields.offset is None:
        fields.offset = word
    elif word == "allballs" and fields.hour is None:
        fields.hour = 0
    elif word == "epoch" and fields.year is None:
        fields.year, fields.month, fields.day, fields.hour, fields.offset = 1970, 1, 1, 0, 0
    elif word == "bc" and not fields.is_before_christ:
        fields.is_before_christ = True
    elif word in DAYS_OF_WORDS:
        _take_clock(fields, word)
    elif fields.offset is None and (fields.hour is not None or fields.day is not None):
        fields.offset = _named_zone(value)
    else:
        raise _Malformed
    return len(value)


def _take_clock(fields: DateTimeFields, word: str) -> None:
    if fields.year is not None or fields.month is not None or fields.day is not None:
        raise _Malformed
    fields.clock, fields.days = word, 0
    fields.year = fields.month = fields.day = 1


def _named_zone(name: str) -> str:
    try:
        time_zone(name)
    except InvalidParameterValue:
        raise _Malformed from None
    return name


def _check(fields: DateTimeFields) -> None:
    if fields.half is not None and fields.hour is not None:
        if fields.hour > 12:
            raise _OutOfRange
        fields.hour = fields.hour % 12 + (12 if fields.half == "pm" else 0)
    if fields.minute > 59 or fields.second > 60 or (fields.hour or 0) > 24:
        raise _OutOfRange
    if fields.hour == 24 and (fields.minute or fields.second or fields.microsecond):
        raise _OutOfRange
    if fields.month is not None and not 1 <= fields.month <= 12:
        raise _OutOfRange
    if fields.day is not None and not 1 <= fields.day <= 31:
        raise _OutOfRange
    if fields.year is None or fields.days is not None:
        return
    if fields.year == 0:
        raise _OutOfRange
    if fields.is_before_christ:
        fields.year = 1 - fields.year
    elif fields.has_short_year:
        fields.year += 2000 if fields.year < 70 else 1900


def wall_clock(type_name: str, text: str, fields: DateTimeFields) -> int:
    """Date and time of the fields in microseconds since 1970, before any offset; 24:00:00 carries into the next day."""
    if fields.year is None or fields.month is None or fields.day is None:
        raise malformed(type_name, text)
    days = fields.days
    try:
        days = day_number(fields.year, fields.month, fields.day) if days is None else days
    except ValueError:
        raise out_of_range(text) from None
    seconds = ((fields.hour or 0) * 60 + fields.minute) * 60 + fields.second
    micros = days * MICROS_OF_DAY + seconds * 1_000_000 + fields.microsecond
    if type_name == "date":
        if not MIN_DAYS <= days < END_DAYS:
            raise _too_far(type_name, text)
    else:
        within_timestamps(text, micros)
    return micros


def _too_far(type_name: str, text: str) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'{type_name} out of range: "{text}"', sqlstate="22008")


def within_timestamps(text: str, micros: int) -> int:
    """`micros` since 1970; raises 22008 if no timestamp can be there."""
    if not MIN_MICROS <= micros < END_MICROS:
        raise _too_far("timestamp", text)
    return micros


def to_utc(text: str, wall: int, offset: int | str) -> int:
    """The instant that a wall clock shows. Of two readings of an hour that repeats or is left out, standard time's."""
    shift = seconds_east(offset, wall) if isinstance(offset, str) else offset
    return within_timestamps(text, wall - shift * 1_000_000)
