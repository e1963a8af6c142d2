"""timestamp_ns: a timestamp of nanoseconds, without a time zone.

Text: as timestamp's, with up to nine digits of a second's fraction and no zeros at its end; more digits are rounded.
Binary: int64 nanoseconds since 1970-01-01, as Arrow and DuckDB count them: from 2000, where PostgreSQL's moments begin,
64 bits would not reach back to 1677.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.clocks.clock_words import with_clock
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS, NANOS, RANGE_HINT, NanoMoment
from risingpy.types.datetime_text import read_fields, wall_clock
from risingpy.types.far_moments import moment_of
from risingpy.types.sql_type import SqlType

_NAME = "timestamp_ns"
_BYTES = 8
_DIGITS = 9
_NEAR_YEARS = range(1677, 2263)
# Of years that are whole: Arrow does not see that a moment of the first or the last one is out of range.
_PLAIN = (
    r"^(167[89]|16[89][0-9]|1[789][0-9]{2}|2[01][0-9]{2}|22[0-5][0-9]|226[01])-[0-9]{2}-[0-9]{2}"
    r"[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?$"
)


def parse(type_: SqlType, text: str, time_zone: str, now: datetime | None = None) -> NanoMoment:
    """Nanoseconds since 1970. `now` is the time of the statement, for words like `today`: without it they are refused.

    Raises 22007 for text that is no timestamp, 22008 for one that is beyond the range or infinite.
    """
    fields = read_fields(_NAME, text)
    with_clock(_NAME, text, fields, now, time_zone)
    is_near = fields.days is not None or fields.year is None or fields.year in _NEAR_YEARS
    if fields.infinite or not is_near:
        raise _too_far(text)
    said = fields.fraction
    below = fields.microsecond * 1000 if said is None else round(said * 10**_DIGITS)  # a half to the even one
    fields.microsecond = 0
    nanos = wall_clock(_NAME, text, fields) * 1000 + below
    if not FIRST_NANOS <= nanos <= LAST_NANOS:
        raise _too_far(text)
    return NanoMoment(nanos)


def _too_far(text: str) -> SqlError:
    return InvalidTextRepresentation(f'{_NAME} out of range: "{text}"', sqlstate="22008", hint=RANGE_HINT)


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The ISO form; no zeros end a fraction."""
    assert isinstance(value, int)
    seconds, nanos = divmod(value, 10**_DIGITS)
    moment = moment_of(seconds * 1_000_000, has_zone=False)
    assert isinstance(moment, datetime)  # the range of the type is within Python's
    return moment.isoformat(" ") + (f".{nanos:09d}".rstrip("0") if nanos else "")


def encode(type_: SqlType, value: object) -> bytes:
    """Nanoseconds since 1970-01-01 as big-endian two's complement."""
    assert isinstance(value, int)
    return value.to_bytes(_BYTES, "big", signed=True)


def decode(type_: SqlType, data: bytes) -> NanoMoment:
    """Raises 22P03 for another length than 8 bytes, 22008 for what is no moment of the type."""
    if len(data) != _BYTES:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    nanos = int.from_bytes(data, "big", signed=True)
    if not FIRST_NANOS <= nanos <= LAST_NANOS:
        raise SqlError(f"{_NAME} out of range", sqlstate="22008", hint=RANGE_HINT)
    return NanoMoment(nanos)


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay. Arrow prints nine digits after the point."""
    shown = pc.cast(array, pa.string())
    return pc.ascii_rtrim(pc.ascii_rtrim(shown, characters="0"), characters=".")


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian int64; arbitrary where the column is NULL."""
    nanos = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return np.asarray(nanos, ">i8")


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """ISO with four-digit years; see `forms.parse_column`."""
    plain = pc.match_substring_regex(texts, _PLAIN)
    chosen = pc.if_else(plain, texts, pa.scalar(None, pa.string()))
    return pc.cast(chosen, NANOS), pc.or_kleene(plain, pc.is_null(texts))
