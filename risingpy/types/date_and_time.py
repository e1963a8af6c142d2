"""date, time, timestamp, timestamptz.

Text: ISO, a fraction of a second without trailing zeros, timestamptz in the session's time zone with its
offset (`+00`, `-03:30`).
Binary: date as int32 days, the others as int64 microseconds; dates count from 2000-01-01, time from midnight.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types import time_zones
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.datetime_text import malformed, out_of_range, read_fields, to_utc, wall_clock, zone
from risingpy.types.families import TypeKind
from risingpy.types.plain_texts import read_as_they_are
from risingpy.types.sql_type import TIMESTAMP, SqlType

_EPOCH_DAYS = 10957  # 1970-01-01 to 2000-01-01
_EPOCH_MICROS = _EPOCH_DAYS * MICROS_OF_DAY
_EPOCH = datetime(2000, 1, 1)
_MIN_DAYS, _MAX_DAYS = (date.min - date(1970, 1, 1)).days, (date.max - date(1970, 1, 1)).days
_MIN_MICROS, _MAX_MICROS = _MIN_DAYS * MICROS_OF_DAY, (_MAX_DAYS + 1) * MICROS_OF_DAY - 1
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_PLAIN = {
    TypeKind.DATE: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    TypeKind.TIME: rf"^{_CLOCK}$",
    TypeKind.TIMESTAMP: rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T]{_CLOCK}$",
    TypeKind.TIMESTAMPTZ: rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T]{_CLOCK}(\+00|\+00:00|Z)$",
}
_WHOLE = {
    TypeKind.DATE: (b"0123456789-", len("2026-11-28")),
    TypeKind.TIMESTAMP: (b"0123456789-:. T", len("2026-11-28 07:00:00")),
}
# What PostgreSQL calls them in its messages.
_NAMES = {
    TypeKind.DATE: "date",
    TypeKind.TIME: "time",
    TypeKind.TIMESTAMP: "timestamp",
    TypeKind.TIMESTAMPTZ: "timestamp with time zone",
}


def parse(type_: SqlType, text: str, time_zone: str) -> date | time | datetime:
    """date, time, naive datetime, or a datetime in UTC; a timestamptz without offset is in `time_zone`."""
    name = _NAMES[type_.kind]
    fields = read_fields(name, text)
    match type_.kind:
        case TypeKind.DATE:
            fields.hour = None
            fields.minute = fields.second = fields.microsecond = 0
            return wall_clock(name, text, fields).date()
        case TypeKind.TIME:
            return _time_of_day(text, fields.hour, fields.minute, fields.second, fields.microsecond)
        case TypeKind.TIMESTAMP:
            return wall_clock(name, text, fields)
        case _:
            offset = zone(time_zone) if fields.offset is None else fields.offset
            return to_utc(text, wall_clock("timestamp", text, fields), offset)


def _time_of_day(text: str, hour: int | None, minute: int, second: int, microsecond: int) -> time:
    if hour is None:
        raise malformed("time", text)
    total = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microsecond)
    if total >= timedelta(days=1):
        # 24:00:00 is a time in PostgreSQL, but none in Python or DuckDB.
        raise out_of_range(text)
    return (datetime.min + total).time()


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The ISO form, no zeros end a fraction; timestamptz in `time_zone`, with its offset at that instant."""
    if isinstance(value, datetime):
        if type_.kind is TypeKind.TIMESTAMPTZ:
            value = value.astimezone(zone(time_zone))
            return _clock(value.replace(tzinfo=None).isoformat(" ")) + format_offset(value.utcoffset() or timedelta())
        return _clock(value.isoformat(" "))
    if isinstance(value, time):
        return _clock(value.isoformat())
    assert isinstance(value, date)
    return value.isoformat()


def _clock(shown: str) -> str:
    return shown.rstrip("0") if "." in shown else shown


def format_offset(offset: timedelta) -> str:
    """`+00`, `-03:30`, `+01:19:32`."""
    seconds = int(offset.total_seconds())
    hours, rest = divmod(abs(seconds), 3600)
    minutes, left = divmod(rest, 60)
    tail = f":{minutes:02d}:{left:02d}" if left else f":{minutes:02d}" if minutes else ""
    return f"{'-' if seconds < 0 else '+'}{hours:02d}{tail}"


def encode(type_: SqlType, value: object) -> bytes:
    """Days or microseconds since 2000-01-01, or since midnight for time, as big-endian two's complement."""
    match value:
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return ((naive - _EPOCH) // timedelta(microseconds=1)).to_bytes(8, "big", signed=True)
        case date():
            return (value.toordinal() - _EPOCH.toordinal()).to_bytes(4, "big", signed=True)
        case time():
            since = datetime.combine(datetime.min, value) - datetime.min
            return (since // timedelta(microseconds=1)).to_bytes(8, "big")
        case _:
            raise TypeError(f"{value!r} is no {type_}")


def decode(type_: SqlType, data: bytes) -> date | time | datetime:
    """Raises 22008 for infinity and what lies outside years 1 to 9999."""
    if len(data) != type_.typlen:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    number = int.from_bytes(data, "big", signed=True)
    try:
        if type_.kind is TypeKind.DATE:
            return date.fromordinal(number + _EPOCH.toordinal())
        if type_.kind is TypeKind.TIME:
            if not 0 <= number < MICROS_OF_DAY:
                raise OverflowError
            return (datetime.min + timedelta(microseconds=number)).time()
        moment = _EPOCH + timedelta(microseconds=number)
    except (OverflowError, ValueError):
        raise SqlError(f"{_NAMES[type_.kind].split()[0]} out of range", sqlstate="22008") from None
    return moment.replace(tzinfo=UTC) if type_.kind is TypeKind.TIMESTAMPTZ else moment


def _integers(type_: SqlType, array: pa.Array) -> pa.Array:
    """Days or microseconds; raises 22008 for what has no text or binary form of ours."""
    days = type_.kind is TypeKind.DATE
    numbers = array.cast(pa.int32()).cast(pa.int64()) if days else array.cast(pa.int64())
    if type_.kind is not TypeKind.TIME and len(numbers) > numbers.null_count:
        limits = pc.min_max(numbers).as_py()
        low, high = (_MIN_DAYS, _MAX_DAYS) if days else (_MIN_MICROS, _MAX_MICROS)
        if limits["min"] < low or limits["max"] > high:
            raise SqlError(f"{_NAMES[type_.kind].split()[0]} out of range", sqlstate="22008")
    return numbers


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them, each instant with its own offset; NULLs stay. Raises 22008 outside the range."""
    numbers = _integers(type_, array)
    if type_.kind is TypeKind.DATE:
        return pc.cast(array, pa.string())
    if type_.kind is not TypeKind.TIMESTAMPTZ:
        return _trimmed(array)
    if time_zone in ("UTC", "Etc/UTC", "GMT"):
        return pc.binary_join_element_wise(_trimmed(array.cast(pa.timestamp("us"))), "+00", "")
    instants = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    seconds = time_zones.time_zone(time_zone).offsets_at(instants)
    local = pc.if_else(pc.is_valid(array), pa.array(instants + seconds * 1_000_000), None).cast(pa.timestamp("us"))
    coded = pa.array(seconds).dictionary_encode()
    offsets = pa.array([format_offset(timedelta(seconds=value)) for value in coded.dictionary.to_pylist()], pa.string())
    return pc.binary_join_element_wise(_trimmed(local), offsets.take(coded.indices), "")


def _trimmed(array: pa.Array) -> pa.Array:
    """Arrow always prints six digits after the point."""
    return pc.ascii_rtrim(pc.ascii_rtrim(pc.cast(array, pa.string()), characters="0"), characters=".")


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian int32 for date, int64 for the others; arbitrary where the column is NULL. 22008 out of range."""
    numbers = pc.fill_null(_integers(type_, array), 0).to_numpy(zero_copy_only=False)
    if type_.kind is TypeKind.DATE:
        return np.asarray(numbers - _EPOCH_DAYS, ">i4")
    if type_.kind is TypeKind.TIME:
        return np.ascontiguousarray(numbers.astype(">i8"))
    return np.asarray(numbers - _EPOCH_MICROS, ">i8")


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """ISO with four-digit years, timestamptz with a zero offset; see `forms.parse_column`."""
    if type_.kind in _WHOLE:  # of these characters and this length, Arrow reads the forms of the pattern alone
        characters, shortest = _WHOLE[type_.kind]
        values = read_as_they_are(texts, type_.arrow, characters, shortest=shortest)
        if values is not None and not pc.any(pc.starts_with(texts, "0000"), min_count=0).as_py():
            return values, None
    plain = pc.match_substring_regex(texts, _PLAIN[type_.kind])
    chosen = pc.if_else(plain, texts, pa.scalar(None, pa.string()))
    decided = pc.or_kleene(plain, pc.is_null(texts))
    if type_.kind is TypeKind.TIME:
        moments = pc.cast(pc.binary_join_element_wise("1970-01-01", chosen, " "), pa.timestamp("us"))
        return moments.cast(pa.time64("us")), decided
    if type_.kind is TypeKind.TIMESTAMPTZ:
        chosen = pc.utf8_slice_codeunits(pc.replace_substring_regex(chosen, r"(\+00|\+00:00|Z)$", ""), 0)
        values = pc.cast(chosen, TIMESTAMP.arrow).cast(type_.arrow)
    else:
        values = pc.cast(chosen, type_.arrow)
    if pc.any(pc.starts_with(texts, "0000")).as_py():
        raise InvalidTextRepresentation("year 0")  # there is none: `parse` says which row
    return values, decided
