"""to_char of timestamps and intervals: computes a column of texts for each piece of the template, and joins them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, per_constant
from risingpy.functions.topics.templates.datetime_templates import TemplatePiece, read_template
from risingpy.functions.topics.templates.interval_calendar import (
    iso_day_of_year,
    iso_week_and_year,
    julian_day,
)
from risingpy.functions.topics.times.dates_and_times import days_of_months, micros_of, months_of
from risingpy.functions.topics.times.finite import nothing_of
from risingpy.functions.topics.times.intervals import divided, fields_of
from risingpy.functions.topics.times.nanoseconds import micros_below
from risingpy.types.date_units import MICROS_OF, MICROS_OF_DAY
from risingpy.types.far_moments import near_day
from risingpy.types.time_zones import TimeZone, time_zone, tzinfo_of

Integers: TypeAlias = "npt.NDArray[np.int64]"

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_JULIAN_1970 = 2_440_588
_NAME_WIDTH = 9


@dataclass(frozen=True, slots=True)
class Moments:
    """The parts that templates show, a column each. An interval has `days` None: no day of the week, no era."""

    year: Integers
    month: Integers  # from 1; of an interval from 0
    day: Integers
    micros: Integers  # of the day; of an interval all
    days: Integers | None
    offsets: Integers | None  # seconds east of Greenwich, of a timestamptz

    @property
    def hour(self) -> Integers:
        hours: Integers = divided(self.micros, MICROS_OF["hour"])
        return hours

    def part(self, size: int, within: int) -> Integers:
        part: Integers = np.abs(self.micros) // size % within
        signed: Integers = np.sign(self.micros) * part if self.days is None else part
        return signed


def _moments(micros: Integers, zone: TimeZone | None) -> Moments:
    offsets = None if zone is None else zone.offsets_at(micros)
    local = micros if offsets is None else micros + offsets * 1_000_000
    months, day, rest = months_of(local)
    days = local // MICROS_OF_DAY
    return Moments(months // 12 + 1970, months % 12 + 1, day + 1, rest, days, offsets)


def _shown_year(m: Moments, year: Integers) -> Integers:
    """The year that people count: 1 BC, which is 0, as 1. That of an interval is what it is."""
    return year if m.days is None else np.where(year > 0, year, 1 - year)


def _number(
    values: Any, width: int, piece: TemplatePiece, *, sign_counts: bool = False, fixed: bool = False
) -> pa.Array:
    """The number, with zeros in front up to `width` unless the template says FM, and its ordinal ending.

    A minus is one of the characters of the width with `sign_counts`; FM changes nothing with `fixed`.
    """
    integers = np.asarray(values, np.int64)
    low = int(integers.min()) if len(integers) else 0
    span = int(integers.max()) - low + 1 if len(integers) else 0
    if span < len(integers) // 4:  # as parts of dates are: each text is made once
        table = _number(np.arange(low, low + span), width, piece, sign_counts=sign_counts, fixed=fixed)
        return table.take(pa.array(integers - low))
    digits = pc.cast(pa.array(np.abs(integers)), pa.string())
    if (piece.fill or fixed) and width:
        padded = pc.utf8_lpad(digits, width, padding="0")
        narrow = pc.utf8_lpad(digits, width - 1, padding="0")
        digits = pc.if_else(pa.array(integers < 0), narrow, padded) if sign_counts else padded
    signs = pa.array(np.where(integers < 0, "-", ""))
    text = pc.binary_join_element_wise(signs, digits, "")
    return _with_ordinal(text, integers, piece)


def _with_ordinal(text: pa.Array, integers: Integers, piece: TemplatePiece) -> pa.Array:
    if not piece.ordinal:
        return text
    last, teens = np.abs(integers) % 10, np.abs(integers) // 10 % 10 == 1
    endings = np.select([teens, last == 1, last == 2, last == 3], ["th", "st", "nd", "rd"], "th")
    if piece.ordinal == "TH":
        endings = np.char.upper(endings)
    return pc.binary_join_element_wise(text, pa.array(endings), "")


def _name(names: tuple[str, ...], index: Integers, piece: TemplatePiece, *, length: int | None = None) -> pa.Array:
    """A name in the keyword's case, filled with blanks to nine characters if it is not cut to `length`."""
    assert piece.keyword is not None
    cased = [_in_case(name[:length], piece.keyword) for name in names]
    if length is None and piece.fill:
        cased = [name.ljust(_NAME_WIDTH) for name in cased]
    return pa.array(cased).take(pa.array(index))


def _in_case(name: str, keyword: str) -> str:
    if keyword.isupper():
        return name.upper()
    return name.lower() if keyword.islower() else name


def iso_week(days: Integers) -> tuple[Integers, Integers]:
    """ISO year and week of days since 1970."""
    thursday = days - (days + 3) % 7 + 3
    year = thursday.astype("M8[D]").astype("M8[Y]").astype(np.int64)
    first: Integers = year.astype("M8[Y]").astype("M8[D]").astype(np.int64)
    return year + 1970, (thursday - first) // 7 + 1


def _iso_day_of_year(days: Integers) -> Integers:
    _, week = iso_week(days)
    return (week - 1) * 7 + (days + 3) % 7 + 1


def _day_of_year(m: Moments) -> Integers:
    assert m.days is not None
    return m.days - days_of_months((m.year - 1970) * 12) + 1


def _era(m: Moments, keyword: str) -> pa.Array:
    after, before = (_in_case(era, keyword) for era in (("a.d.", "b.c.") if "." in keyword else ("ad", "bc")))
    return pa.array(np.where(m.year > 0, after, before))


def _half(m: Moments, keyword: str) -> pa.Array:
    names = ("a.m.", "p.m.") if "." in keyword else ("am", "pm")
    return pa.array(np.where(np.fmod(m.hour, 24) >= 12, *(_in_case(name, keyword) for name in reversed(names))))


def _century(m: Moments) -> Integers:
    if m.days is None:
        cut: Integers = divided(m.year, 100)
        return cut
    return np.where(m.year > 0, (m.year + 99) // 100, divided(m.year - 100, 100))


def _zone_hours(m: Moments, piece: TemplatePiece, *, with_minutes: bool) -> pa.Array:
    offsets = np.zeros(len(m.year), np.int64) if m.offsets is None else m.offsets
    signs = pa.array(np.where(offsets < 0, "-", "+"))
    hours = pc.cast(pa.array(np.abs(offsets) // 3600), pa.string())
    if piece.fill or not with_minutes:
        hours = pc.utf8_lpad(hours, 2, padding="0")
    text = pc.binary_join_element_wise(signs, hours, "")
    minutes = np.abs(offsets) // 60 % 60
    if with_minutes and minutes.any():
        shown = pc.utf8_lpad(pc.cast(pa.array(minutes), pa.string()), 2, padding="0")
        text = pc.if_else(pa.array(minutes != 0), pc.binary_join_element_wise(text, shown, ":"), text)
    return text


def _year(m: Moments, digits: int, piece: TemplatePiece, year: Integers) -> pa.Array:
    """The last digits of a year; of an interval from before 0, one character more for the minus."""
    shown = year if digits == 4 else np.fmod(year, 10**digits)
    after = _number(shown, digits, piece, sign_counts=True)
    if digits == 1 or m.days is not None or not (m.year < 0).any():
        return after
    return pc.if_else(pa.array(m.year < 0), _number(shown, digits + 1, piece, sign_counts=True), after)


def _interval_part(m: Moments, lower: str, piece: TemplatePiece) -> pa.Array | None:
    """Keywords for which PostgreSQL reads an interval as if it were a date; None for any other keyword."""
    fields = (m.year.astype(np.int32), m.month.astype(np.int32), m.day.astype(np.int32))
    in_days = (fields[0] * np.int32(12) + fields[1]) * np.int32(30) + fields[2]
    match lower:
        case "ddd":
            return _number(in_days, 3, piece, sign_counts=True)
        case "iddd":
            return _number(iso_day_of_year(*fields), 3, piece, sign_counts=True)
        case "ww":
            return _number(divided(in_days - np.int32(1), 7) + 1, 2, piece, sign_counts=True)
        case "iw":
            return _number(iso_week_and_year(*fields)[0], 2, piece, sign_counts=True)
        case "w":
            return _number(divided(m.day - 1, 7) + 1, 0, piece)
        case "j":
            return _number(julian_day(*fields), 0, piece)
        case "iyyy" | "iyy" | "iy" | "i":
            return _year(m, len(lower), piece, iso_week_and_year(*fields)[1].astype(np.int64))
    return None


_DATE_ONLY = frozenset(
    (
        *("A.D.", "AD", "B.C.", "BC", "a.d.", "ad", "b.c.", "bc", "MONTH", "Month", "month", "MON", "Mon", "mon", "TZ"),
        *("DAY", "Day", "day", "DY", "Dy", "dy", "D", "ID", "tz", "TZH", "TZM", "OF"),
    )
)
_BELOW_SECONDS = frozenset({"ms", "us", "ff1", "ff2", "ff3", "ff4", "ff5", "ff6"})
_FIXED_PARTS = {"MI": (60_000_000, 60, 2), "SS": (1_000_000, 60, 2), "MS": (1000, 1000, 3), "US": (1, 1_000_000, 6)}


def _shown(m: Moments, piece: TemplatePiece) -> pa.Array:
    """The column of one keyword."""
    keyword = piece.keyword
    assert keyword is not None
    if m.days is None and keyword in _DATE_ONLY:
        hint = "Intervals are not tied to specific calendar dates."
        raise SqlError("invalid format specification for an interval value", sqlstate="22007", hint=hint)
    clock = _clock_part(m, keyword, piece)
    return clock if clock is not None else _calendar_part(m, keyword, piece)


def _clock_part(m: Moments, keyword: str, piece: TemplatePiece) -> pa.Array | None:
    if keyword in _FIXED_PARTS:
        size, within, width = _FIXED_PARTS[keyword]
        below = keyword in ("MS", "US")
        return _number(m.part(size, within), width, piece, sign_counts=below, fixed=below)
    if keyword.startswith("FF"):
        digits = int(keyword[2])
        return _number(m.part(10 ** (6 - digits), 10**digits), digits, piece, sign_counts=True, fixed=True)
    match keyword:
        case "HH" | "HH12":
            hour = m.hour
            twelve = np.where(hour % 12 == 0, 12, np.sign(hour) * (np.abs(hour) % 12))
            # As PostgreSQL does, for a whole half day before zero: 012.
            whole = pa.array((hour < 0) & (hour % 12 == 0))
            return pc.if_else(whole, _number(twelve, 3, piece), _number(twelve, 2, piece))
        case "HH24":
            return _number(m.hour, 2, piece)
        case "SSSS" | "SSSSS":
            return _number(divided(m.micros, 1_000_000), 0, piece)
        case "TZ" | "tz":
            return None
        case "TZH":
            return _zone_hours(m, piece, with_minutes=False)
        case "TZM":
            offsets = np.zeros(len(m.year), np.int64) if m.offsets is None else np.abs(m.offsets)
            return pc.utf8_lpad(pc.cast(pa.array(offsets // 60 % 60), pa.string()), 2, padding="0")
        case "OF":
            return _zone_hours(m, piece, with_minutes=True)
    return _half(m, keyword) if keyword.lower().replace(".", "") in ("am", "pm") else None


def _calendar_part(m: Moments, keyword: str, piece: TemplatePiece) -> pa.Array:
    lower = keyword.lower()
    if m.days is None:
        part = _interval_part(m, lower, piece)
        if part is not None:
            return part
    days = np.zeros(len(m.year), np.int64) if m.days is None else m.days
    weekday = (days + 4) % 7  # Sunday is 0
    match lower:
        case "ad" | "a.d." | "bc" | "b.c.":
            return _era(m, keyword)
        case "month" | "mon":
            return _name(MONTHS, m.month - 1, piece, length=None if lower == "month" else 3)
        case "day" | "dy":
            return _name(DAYS, weekday, piece, length=None if lower == "day" else 3)
        case "mm":
            return _number(m.month, 2, piece)
        case "dd":
            return _number(m.day, 2, piece, sign_counts=True)
        case "d":
            return _number(weekday + 1, 0, piece)
        case "id":
            return _number((weekday + 6) % 7 + 1, 0, piece)
        case "ddd":
            return _number(_day_of_year(m), 3, piece)
        case "iddd":
            return _number(_iso_day_of_year(days), 3, piece)
        case "ww":
            return _number((_day_of_year(m) - 1) // 7 + 1, 2, piece)
        case "iw":
            return _number(iso_week(days)[1], 2, piece)
        case "w":
            return _number((m.day - 1) // 7 + 1, 0, piece)
        case "q":
            quarter = _number(divided(m.month - 1, 3) + 1, 0, piece)
            return pc.if_else(pa.array(m.month == 0), "", quarter)
        case "cc":
            return _number(_century(m), 2, piece)
        case "j":
            return _number(days + _JULIAN_1970, 0, piece)
        case "rm":
            names = tuple(_in_case(roman, keyword) for roman in ROMAN)
            filled = pa.array([n.ljust(4) if piece.fill else n for n in names])
            # An interval's years without months are shown as XII, or as I if they are negative.
            index = np.where(m.month > 0, m.month - 1, np.where(m.month < 0, m.month + 12, np.where(m.year < 0, 0, 11)))
            return pc.if_else(pa.array((m.month == 0) & (m.year == 0)), "", filled.take(pa.array(index)))
        case "y,yyy":
            return _with_comma(_shown_year(m, m.year), piece)
    year = iso_week(days)[0] if lower.startswith("i") and m.days is not None else m.year
    return _year(m, len(lower), piece, _shown_year(m, year))


def _with_comma(year: Integers, piece: TemplatePiece) -> pa.Array:
    thousands = pc.cast(pa.array(divided(year, 1000)), pa.string())
    plain = replace(piece, ordinal="")
    rest = _number(np.fmod(year, 1000), 3, plain, sign_counts=True, fixed=True)
    return _with_ordinal(pc.binary_join_element_wise(thousands, rest, ","), year, piece)


def _formatted(moments: Callable[[pa.Array], Moments], template: str, zone_name: str | None = None) -> Compute:
    pieces = read_template(template).pieces
    in_seconds = not any(piece.keyword is not None and piece.keyword.lower() in _BELOW_SECONDS for piece in pieces)

    def computed(column: pa.Array) -> pa.Array:
        if in_seconds and pa.types.is_timestamp(column.type):
            seconds = pc.floor_temporal(column, unit="second").dictionary_encode()
            if len(seconds.dictionary) < len(column) // 4:  # as of events: each second is written once
                return written(seconds.dictionary).take(seconds.indices)
        return written(column)

    def written(column: pa.Array) -> pa.Array:
        m = moments(column)
        shown = [_zone_name(m, p, zone_name) if p.keyword in ("TZ", "tz") and m.days is not None else
                 pa.repeat(p.text, len(column)) if p.keyword is None else _shown(m, p) for p in pieces]  # fmt: skip
        return pc.binary_join_element_wise(*shown, "") if shown else pa.nulls(len(column), pa.string())

    return computed


def _zone_name(m: Moments, piece: TemplatePiece, zone_name: str | None) -> pa.Array:
    """The abbreviation of the time zone; an empty text for a timestamp without time zone."""
    if zone_name is None or m.offsets is None:
        return pa.repeat("", len(m.year))
    names = abbreviations(zone_name, m)
    if piece.keyword == "tz":
        names = [name.lower() for name in names]
    return pa.array(names)


def abbreviations(zone_name: str, m: Moments) -> list[str]:
    """The zone's abbreviation at each moment, computed once per offset and year."""
    assert m.offsets is not None and m.days is not None
    zone = tzinfo_of(zone_name)
    known: dict[tuple[int, int], str] = {}
    result = []
    for key, day, micros in zip(
        zip(m.offsets.tolist(), m.year.tolist(), strict=True), m.days.tolist(), m.micros.tolist(), strict=True
    ):
        if key not in known:
            seconds = timedelta(microseconds=micros - key[0] * 1_000_000)
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=near_day(day + 1) - 1) + seconds
            known[key] = moment.astimezone(zone).tzname() or ""
        result.append(known[key])
    return result


def _interval_moments(column: pa.Array) -> Moments:
    months, days, micros = fields_of(column)
    years = divided(months, 12)
    return Moments(years, months - years * 12, days, micros, None, None)


def _to_char(template: str) -> Compute:
    return nothing_of(_formatted(lambda column: _moments(micros_of(column), None), template), pa.string())


def _to_char_nanos(template: str) -> Compute:
    return _formatted(lambda column: _moments(micros_below(column), None), template)


def _to_char_at(template: str, zone_name: str) -> Compute:
    zone = time_zone(zone_name)
    return nothing_of(_formatted(lambda column: _moments(micros_of(column), zone), template, zone_name), pa.string())


def _to_char_interval(template: str) -> Compute:
    return _formatted(_interval_moments, template)


DATETIME_OUTPUT: dict[str, Function] = {
    "to_char_timestamp": Function(per_constant(_to_char, [1])),
    "to_char_timestamptz": Function(per_constant(_to_char_at, [1, 2])),
    "to_char_nanos": Function(per_constant(_to_char_nanos, [1])),
    "to_char_interval": Function(per_constant(_to_char_interval, [1])),
}
