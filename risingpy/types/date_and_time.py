"""date, time, timestamp, timestamptz.

Text: ISO, a fraction of a second without trailing zeros, timestamptz in the session's time zone with its
offset (`+00`, `-03:30`); ` BC` at the end for years before Christ, `infinity`, `-infinity`.
Binary: date as int32 days, the others as int64 microseconds; dates count from 2000-01-01, time from midnight. Infinity
is the greatest number, -infinity the least.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types import time_zones
from risingpy.types.clocks.clock_words import with_clock
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.datetime_text import (
    malformed,
    out_of_range,
    read_fields,
    to_utc,
    wall_clock,
    within_timestamps,
)
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import (
    END_DAYS,
    END_MICROS,
    INFINITE_DAYS,
    INFINITE_MICROS,
    MIN_DAYS,
    MIN_MICROS,
    NEAR_DAYS,
    NEAR_MICROS,
    FarDate,
    FarMoment,
    date_of,
    days_of,
    infinite_text,
    is_infinite,
    micros_of,
    moment_of,
)
from risingpy.types.plain_texts import read_as_they_are
from risingpy.types.sql_type import TIMESTAMP, SqlType
from risingpy.types.time_precision import rounded_column, rounded_value

_EPOCH_DAYS = 10957  # 1970-01-01 to 2000-01-01
_EPOCH_MICROS = _EPOCH_DAYS * MICROS_OF_DAY
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # after which the calendar repeats itself
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


def parse(type_: SqlType, text: str, time_zone: str, now: datetime | None = None) -> object:
    """date, time, naive datetime, or a datetime in UTC; a timestamptz without offset is in `time_zone`.

    `now` is the time of the statement, for words like `today`. Raises FeatureNotSupported for these without it.
    """
    value = _parsed(type_, text, time_zone, now)
    return value if type_.length is None else rounded_value(type_, value)


def _parsed(
    type_: SqlType, text: str, time_zone: str, now: datetime | None
) -> date | time | datetime | FarDate | FarMoment:
    name = _NAMES[type_.kind]
    fields = read_fields(name, text)
    with_clock(name, text, fields, now, time_zone)
    if fields.infinite and type_.kind is not TypeKind.TIME:
        is_date = type_.kind is TypeKind.DATE
        return FarDate(fields.infinite * INFINITE_DAYS) if is_date else FarMoment(fields.infinite * INFINITE_MICROS)
    match type_.kind:
        case TypeKind.DATE:
            fields.hour = None
            fields.minute = fields.second = fields.microsecond = 0
            return date_of(wall_clock(name, text, fields) // MICROS_OF_DAY)
        case TypeKind.TIME:
            return _time_of_day(text, fields.hour, fields.minute, fields.second, fields.microsecond)
        case TypeKind.TIMESTAMP:
            return moment_of(within_timestamps(text, wall_clock(name, text, fields)), has_zone=False)
        case _:
            offset = time_zone if fields.offset is None else fields.offset
            return moment_of(to_utc(text, wall_clock("timestamp", text, fields), offset), has_zone=True)


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
    match value:
        case FarDate() | FarMoment():
            limit = INFINITE_DAYS if type_.kind is TypeKind.DATE else INFINITE_MICROS
            return infinite_text(value, limit) or _text_by_column(type_, value, time_zone)
        case datetime() if type_.kind is TypeKind.TIMESTAMPTZ:
            try:
                local = value.astimezone(time_zones.tzinfo_of(time_zone))
            except OverflowError:  # the clock in that zone shows a year that Python lacks
                return _text_by_column(type_, value, time_zone)
            return _clock(local.replace(tzinfo=None).isoformat(" ")) + format_offset(local.utcoffset() or timedelta())
        case datetime():
            return _clock(value.isoformat(" "))
        case time():
            return _clock(value.isoformat())
        case date():
            return value.isoformat()
    raise TypeError(f"{value!r} is no {type_}")


def _text_by_column(type_: SqlType, value: object, time_zone: str) -> str:
    text: str = text_column(type_, pa.array([value], type_.arrow), time_zone)[0].as_py()
    return text


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
        case datetime() | FarMoment():
            return _sent(micros_of(value), _EPOCH_MICROS, INFINITE_MICROS).to_bytes(8, "big", signed=True)
        case date() | FarDate():
            return _sent(days_of(value), _EPOCH_DAYS, INFINITE_DAYS).to_bytes(4, "big", signed=True)
        case time():
            since = datetime.combine(datetime.min, value) - datetime.min
            return (since // timedelta(microseconds=1)).to_bytes(8, "big")
        case _:
            raise TypeError(f"{value!r} is no {type_}")


def _sent(number: int, epoch: int, infinite: int) -> int:
    """The number that PostgreSQL sends; its -infinity is one less than the negative of its infinity."""
    return number - epoch if abs(number) < infinite else infinite if number > 0 else -infinite - 1


def decode(type_: SqlType, data: bytes) -> object:
    """Raises 22008 for what lies outside the type's range."""
    value = _decoded(type_, data)
    return value if type_.length is None else rounded_value(type_, value)


def _decoded(type_: SqlType, data: bytes) -> date | time | datetime | FarDate | FarMoment:
    if len(data) != type_.typlen:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    number = int.from_bytes(data, "big", signed=True)
    match type_.kind:
        case TypeKind.DATE:
            return date_of(_received(type_, number, _EPOCH_DAYS, (MIN_DAYS, END_DAYS), INFINITE_DAYS))
        case TypeKind.TIME:
            if not 0 <= number < MICROS_OF_DAY:
                raise _out_of_range(type_)
            return (datetime.min + timedelta(microseconds=number)).time()
    micros = _received(type_, number, _EPOCH_MICROS, (MIN_MICROS, END_MICROS), INFINITE_MICROS)
    return moment_of(micros, has_zone=type_.kind is TypeKind.TIMESTAMPTZ)


def _received(type_: SqlType, number: int, epoch: int, limits: tuple[int, int], infinite: int) -> int:
    if number in (infinite, -infinite - 1):
        return infinite if number > 0 else -infinite
    if not limits[0] <= number + epoch < limits[1]:
        raise _out_of_range(type_)
    return number + epoch


def _out_of_range(type_: SqlType) -> SqlError:
    return SqlError(f"{_NAMES[type_.kind].split()[0]} out of range", sqlstate="22008")


def _integers(type_: SqlType, array: pa.Array) -> npt.NDArray[np.int64]:
    """Days or microseconds, 0 where NULL."""
    numbers = array.cast(pa.int32()).cast(pa.int64()) if type_.kind is TypeKind.DATE else array.cast(pa.int64())
    filled: npt.NDArray[np.int64] = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    return filled


def _all_near(numbers: npt.NDArray[np.int64], limits: tuple[int, int]) -> bool:
    return not len(numbers) or (int(numbers.min()) >= limits[0] and int(numbers.max()) <= limits[1])


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them, each instant with its own offset; NULLs stay."""
    if type_.kind is TypeKind.TIME:
        return _trimmed(array)
    numbers = _integers(type_, array)
    is_date = type_.kind is TypeKind.DATE
    in_utc = time_zone in ("UTC", "Etc/UTC", "GMT")
    if type_.kind is not TypeKind.TIMESTAMPTZ:
        near = _all_near(numbers, NEAR_DAYS if is_date else NEAR_MICROS)
        return _trimmed(array) if near else _far_texts(numbers, array.is_valid(), is_date=is_date)
    if in_utc and _all_near(numbers, NEAR_MICROS):
        return pc.binary_join_element_wise(_trimmed(array.cast(pa.timestamp("us"))), "+00", "")
    zoned = time_zones.time_zone(time_zone)
    seconds = zoned.offsets_at(numbers)
    coded = pa.array(seconds).dictionary_encode()
    offsets = pa.array([format_offset(timedelta(seconds=value)) for value in coded.dictionary.to_pylist()], pa.string())
    shown = offsets.take(coded.indices)
    local = zoned.to_local(numbers)
    if _all_near(local, NEAR_MICROS):
        clocks = pc.if_else(array.is_valid(), pa.array(local), None).cast(pa.timestamp("us"))
        return pc.binary_join_element_wise(_trimmed(clocks), shown, "")
    return _far_texts(local, array.is_valid(), is_date=False, offsets=shown)


def _far_texts(
    numbers: npt.NDArray[np.int64], valid: pa.Array, *, is_date: bool, offsets: pa.Array | str = ""
) -> pa.Array:
    """Texts of days or microseconds of any year: those of the same day some times 400 years from it, with its year."""
    limit, per_day = (INFINITE_DAYS, 1) if is_date else (INFINITE_MICROS, MICROS_OF_DAY)
    finite = np.where(is_infinite(numbers, limit), 0, numbers)
    cycles, near = np.divmod(finite - _EPOCH_DAYS * per_day, _CYCLE_DAYS * per_day)
    days = near + _EPOCH_DAYS * per_day  # from 2000 to 2399
    moments = pa.array(days.astype(np.int32)).cast(pa.date32()) if is_date else pa.array(days).cast(pa.timestamp("us"))
    years = pc.year(moments).to_numpy() + _CYCLE_YEARS * cycles
    shown = pc.utf8_lpad(pc.cast(pa.array(np.where(years > 0, years, 1 - years)), pa.string()), 4, padding="0")
    rest = pc.utf8_slice_codeunits(_trimmed(moments), 4)
    eras = pc.if_else(pa.array(years > 0), "", " BC")
    texts = pc.binary_join_element_wise(shown, rest, offsets, eras, "")
    texts = pc.if_else(pa.array(numbers >= limit), "infinity", texts)
    texts = pc.if_else(pa.array(numbers <= -limit), "-infinity", texts)
    return pc.if_else(valid, texts, pa.scalar(None, pa.string()))


def _trimmed(array: pa.Array) -> pa.Array:
    """Arrow always prints six digits after the point; of a date none."""
    if pa.types.is_date(array.type):
        return pc.cast(array, pa.string())
    return pc.ascii_rtrim(pc.ascii_rtrim(pc.cast(array, pa.string()), characters="0"), characters=".")


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian int32 for date, int64 for the others; arbitrary where the column is NULL."""
    numbers = _integers(type_, array)
    if type_.kind is TypeKind.DATE:
        return np.asarray(_sent_numbers(numbers, _EPOCH_DAYS, INFINITE_DAYS), ">i4")
    if type_.kind is TypeKind.TIME:
        return np.ascontiguousarray(numbers.astype(">i8"))
    return np.asarray(_sent_numbers(numbers, _EPOCH_MICROS, INFINITE_MICROS), ">i8")


def _sent_numbers(numbers: npt.NDArray[np.int64], epoch: int, infinite: int) -> npt.NDArray[np.int64]:
    """`_sent` of a column."""
    sent = numbers - epoch
    odd = is_infinite(numbers, infinite)
    return np.where(odd, np.where(numbers > 0, infinite, -infinite - 1), sent) if odd.any() else sent


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """ISO with four-digit years, timestamptz with a zero offset; see `forms.parse_column`."""
    values, decided = _parsed_plain(type_, texts)
    return (values if type_.length is None else rounded_column(values, type_.length)), decided


def _parsed_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
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
    infinite, signs = _infinities(type_, texts)
    if type_.kind is TypeKind.TIMESTAMPTZ:
        chosen = pc.utf8_slice_codeunits(pc.replace_substring_regex(chosen, r"(\+00|\+00:00|Z)$", ""), 0)
        values = pc.cast(chosen, TIMESTAMP.arrow).cast(type_.arrow)
    else:
        values = pc.cast(chosen, type_.arrow)
    if pc.any(pc.starts_with(texts, "0000")).as_py():
        raise InvalidTextRepresentation("year 0")  # there is none: `parse` says which row
    return pc.if_else(infinite, signs, values), pc.or_kleene(decided, infinite)


def _infinities(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Where the texts are infinity, as it is most often written, and the infinite values in these rows."""
    above, below = pc.equal(texts, "infinity"), pc.equal(texts, "-infinity")
    bits, limit = (pa.int32(), INFINITE_DAYS) if type_.kind is TypeKind.DATE else (pa.int64(), INFINITE_MICROS)
    signs = pc.if_else(above, pa.scalar(limit, bits), pa.scalar(-limit, bits)).cast(type_.arrow)
    return pc.fill_null(pc.or_(above, below), False), signs
