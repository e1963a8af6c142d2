"""interval: months, days and microseconds, kept apart as PostgreSQL does.

Text: `1 year 2 mons -3 days +04:05:06.7` (intervalstyle 'postgres'). Binary: int64 microseconds, int32 days, int32
months. The Python value is pyarrow.MonthDayNano(months, days, nanoseconds).
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.date_units import DAYS_OF, MICROS_OF, MICROS_OF_DAY, YEARS_OF, unit_of
from risingpy.types.sql_type import SqlType
from risingpy.types.time_precision import rounded_value

MICROS_LIMIT = 2**63 // 1000
"""The first number of microseconds, 292 years of them, that 64 bits of nanoseconds cannot hold."""
_MONTHS_OF = {"month": 1, **{unit: 12 * years for unit, years in YEARS_OF.items()}}
_TOKEN = re.compile(
    r"(?P<clock>[+-]?\d+:\d{0,2}(?::\d{0,2})?(?:\.\d*)?)"  # PostgreSQL takes a part that is missing for 0
    r"|(?P<years>[+-]?\d+-\d{1,2}(?![\d-]))"
    r"|(?P<number>(?:[+-]\s*)?(?:\d+\.?\d*|\.\d+))"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<blank>[\s@,:]+)",
    re.ASCII,
)
_DATE = re.compile(r"\d+-\d+-\d")
_ISO = re.compile(r"P(?:[^T]+)?(?:T.+)?", re.ASCII)
_ISO_FIELD = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)([A-Z])", re.ASCII)
_ISO_DATE = {"Y": "year", "M": "month", "W": "week", "D": "day"}
_ISO_TIME = {"H": "hour", "M": "minute", "S": "second"}
# ISO 8601's other form: P0001-02-03T04:05:06, P00010203, PT040506. Each of its parts may end early, or have fields.
_ISO_OTHER_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})|(-?\d+)(?:-(-?\d+)(?:-(-?\d+))?)?", re.ASCII)
_ISO_OTHER_TIME = re.compile(
    r"(\d{2})(\d{2})(\d{2}(?:\.\d+)?)|(-?\d+(?:\.\d*)?)(?::(-?\d+)(?::(-?\d+(?:\.\d*)?))?)?", re.ASCII
)
_LAYOUT = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_BINARY = np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")])


class _Sum:
    """The fields found so far. A fraction of a month becomes days, of a day microseconds; a month has 30 days."""

    __slots__ = ("days", "micros", "months", "seen")

    def __init__(self) -> None:
        self.months = self.days = self.micros = 0
        self.seen: set[tuple[int, int, int]] = set()

    def add(self, number: Fraction, name: str) -> bool:
        """False if there is no such unit, or if it was there before."""
        unit = unit_of(name) or ""
        scale = (MICROS_OF.get(unit, 0), DAYS_OF.get(unit, 0), _MONTHS_OF.get(unit, 0))
        if scale in self.seen or not any(scale):
            return False
        self.seen.add(scale)
        if unit == "second" and number.denominator > 1 and not self._take_fraction():
            return False
        if unit in MICROS_OF:
            self.micros += round(number * MICROS_OF[unit])
        elif unit in DAYS_OF:
            self._add_days(number * DAYS_OF[unit])
        elif unit == "month":
            whole = int(number)
            self.months += whole
            self._add_days((number - whole) * 30)
        else:
            self.months += round(number * _MONTHS_OF[unit])
        return True

    def _take_fraction(self) -> bool:
        """Seconds with a fraction say milliseconds and microseconds, too. False if those were there before."""
        parts = {(MICROS_OF[unit], 0, 0) for unit in ("milliseconds", "microseconds")}
        is_new = not parts & self.seen
        self.seen |= parts
        return is_new

    def _add_days(self, number: Fraction) -> None:
        whole = int(number)
        self.days += whole
        self.micros += round((number - whole) * MICROS_OF_DAY)

    def value(self, text: str) -> pa.MonthDayNano:
        whole = all(-(2**31) <= number < 2**31 for number in (self.months, self.days))
        fits = whole and abs(self.micros) < MICROS_LIMIT
        if not fits:
            raise SqlError(f'interval field value out of range: "{text}"', sqlstate="22015")
        return pa.MonthDayNano((self.months, self.days, self.micros * 1000))


def parse(type_: SqlType, text: str, time_zone: str) -> object:
    """Accepts PostgreSQL's forms: verbose (`1 day 2 hours ago`), clock (`3 04:05:06`), `1-2`, and ISO 8601."""
    total = _Sum()
    stripped = text.strip()
    ok = _read_iso(total, stripped) if stripped.startswith("P") and _ISO.fullmatch(stripped) else _read(total, stripped)
    if not ok or not total.seen:
        raise InvalidTextRepresentation(f'invalid input syntax for type interval: "{text}"', sqlstate="22007")
    return rounded_value(type_, total.value(text))


def _read(total: _Sum, text: str) -> bool:
    if _DATE.match(text):
        return False
    at = 0
    pending: Fraction | None = None
    ago = False
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (ago and token.lastgroup != "blank"):
            return False
        at = token.end()
        value = token[0]
        match token.lastgroup:
            case "number":
                if pending is not None:
                    return False
                pending = Fraction(re.sub(r"\s", "", value))
            case "clock" | "years":
                if pending is not None and not total.add(pending, "day"):
                    return False
                pending = None
                if not (_add_clock(total, value) if ":" in value else _add_years(total, value)):
                    return False
            case "word":
                word = value.lower()
                if word == "ago" and pending is None:
                    ago = True
                elif pending is None or not total.add(pending, word):
                    return False
                pending = None
            case _:
                pass
    if pending is not None and not total.add(pending, "second"):
        return False
    if ago:
        total.months, total.days, total.micros = -total.months, -total.days, -total.micros
    return True


def _add_clock(total: _Sum, value: str) -> bool:
    """hh:mm, hh:mm:ss.f, or mm:ss.f. It says all three, so that no other seconds may follow."""
    sign = -1 if value.startswith("-") else 1
    parts = value.lstrip("+-").split(":")
    if len(parts) == 2 and "." in parts[1]:
        parts.insert(0, "0")
    if any(float(part.removesuffix(".") or "0") >= 60 + position for position, part in enumerate(parts[1:])):
        raise SqlError(f'interval field value out of range: "{value}"', sqlstate="22015")
    for part, unit in zip([*parts, "0"], ("hour", "minute", "second"), strict=False):
        if not total.add(sign * Fraction(part.removesuffix(".") or "0"), unit):
            return False
    total.seen |= {(MICROS_OF[unit], 0, 0) for unit in ("milliseconds", "microseconds")}
    return True


def _add_years(total: _Sum, value: str) -> bool:
    sign = -1 if value.startswith("-") else 1
    years, months = value.lstrip("+-").split("-")
    total.months += sign * (12 * int(years) + int(months))
    total.seen.add((0, 0, 1))
    return True


def _read_iso(total: _Sum, text: str) -> bool:
    date_part, _, time_part = text[1:].partition("T")
    return _read_iso_part(total, date_part, _ISO_DATE, _ISO_OTHER_DATE, ("year", "month", "day")) and _read_iso_part(
        total, time_part, _ISO_TIME, _ISO_OTHER_TIME, ("hour", "minute", "second")
    )


def _read_iso_part(
    total: _Sum, part: str, units: dict[str, str], other: re.Pattern[str], names: tuple[str, str, str]
) -> bool:
    """A part in either form: `1Y2M`, or in the `other` one, whose groups are `names`, twice."""
    alternative = other.fullmatch(part)
    if alternative is not None:
        found = zip(alternative.groups(), names * 2, strict=True)
        return all(total.add(Fraction(number), name) for number, name in found if number is not None)
    at = 0
    while at < len(part):
        field = _ISO_FIELD.match(part, at)
        if field is None or field[2] not in units or not total.add(Fraction(field[1]), units[field[2]]):
            return False
        at = field.end()
    return True


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The `postgres` style: parts that are zero are left out, and a positive part after a negative one has a plus."""
    assert isinstance(value, pa.MonthDayNano)
    months, days, nanos = value.months, value.days, value.nanoseconds
    sign = -1 if months < 0 else 1
    years, mons = divmod(abs(months), 12)
    shown: list[str] = []
    negative = False
    for number, unit in ((sign * years, "year"), (sign * mons, "mon"), (days, "day")):
        if number:
            plus = "+" if negative and number > 0 else ""
            shown.append(f"{plus}{number} {unit}{'' if number == 1 else 's'}")
            negative = number < 0
    micros = abs(nanos) // 1000
    if micros or not shown:
        seconds, fraction = divmod(micros, 1_000_000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        point = f".{fraction:06d}".rstrip("0") if fraction else ""
        shown.append(f"{'-' if nanos < 0 else '+' if negative else ''}{clock}{point}")
    return " ".join(shown)


def encode(type_: SqlType, value: object) -> bytes:
    """Each part in its own field. Nanoseconds below a microsecond are cut towards zero."""
    assert isinstance(value, pa.MonthDayNano)
    return struct.pack("!qii", _toward_zero(value.nanoseconds), value.days, value.months)


def _toward_zero(nanos: int) -> int:
    return nanos // 1000 if nanos >= 0 else -(-nanos // 1000)


def decode(type_: SqlType, data: bytes) -> object:
    """Raises 22P03 for another length than 16 bytes, 22008 for a time that 64 bits of nanoseconds cannot hold."""
    if len(data) != type_.typlen:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    micros, days, months = struct.unpack("!qii", data)
    if abs(micros) >= MICROS_LIMIT:
        raise SqlError("interval out of range", sqlstate="22008")
    return rounded_value(type_, pa.MonthDayNano((months, days, micros * 1000)))


def _fields(array: pa.Array) -> npt.NDArray[np.void]:
    """The array's memory as records; rows that are NULL are zeroed."""
    raw = array.buffers()[1]
    if raw is None or len(array) == 0:
        return np.zeros(len(array), _LAYOUT)
    records = np.frombuffer(raw, _LAYOUT)[array.offset : array.offset + len(array)]
    if array.null_count:
        records = records.copy()
        records[~array.is_valid().to_numpy(zero_copy_only=False)] = 0
    return records


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them, a column per part; NULLs stay."""
    records = _fields(array)
    months = records["months"].astype(np.int64)
    years = np.sign(months) * (np.abs(months) // 12)
    negative = np.zeros(len(array), bool)
    pieces: list[pa.Array] = []
    shown = np.zeros(len(array), bool)
    for numbers, unit in ((years, "year"), (months - 12 * years, "mon"), (records["days"].astype(np.int64), "day")):
        pieces.append(_amount(numbers, unit, negative, shown))
        negative = np.where(numbers != 0, numbers < 0, negative)
        shown = shown | (numbers != 0)
    pieces.append(_clock(records["nanos"], negative, shown))
    text = pc.binary_join_element_wise(*pieces, "")
    return pc.if_else(pc.is_valid(array), text, pa.scalar(None, pa.string())) if array.null_count else text


def _amount(
    numbers: npt.NDArray[np.int64], unit: str, negative: npt.NDArray[np.bool_], shown: npt.NDArray[np.bool_]
) -> pa.Array:
    """`-3 days`, with a blank before it if something is shown already; empty for zero."""
    before = np.where(shown, " ", "")
    plus = np.where(negative & (numbers > 0), "+", "")
    ends = pc.if_else(pa.array(numbers == 1), f" {unit}", f" {unit}s")
    digits = pc.cast(pa.array(numbers), pa.string())
    whole = pc.binary_join_element_wise(pa.array(before), pa.array(plus), digits, ends, "")
    return pc.if_else(pa.array(numbers != 0), whole, "")


def _clock(nanos: npt.NDArray[np.int64], negative: npt.NDArray[np.bool_], shown: npt.NDArray[np.bool_]) -> pa.Array:
    """`+04:05:06.7`; empty for zero, unless nothing else is shown."""
    micros = np.abs(nanos) // 1000
    seconds = micros // 1_000_000
    sign = np.where(nanos < 0, "-", np.where(negative, "+", ""))
    parts = [
        pc.utf8_lpad(pc.cast(pa.array(part), pa.string()), width, padding="0")
        for part, width in ((seconds // 3600, 2), (seconds // 60 % 60, 2), (seconds % 60, 2), (micros % 1_000_000, 6))
    ]
    fraction = pc.ascii_rtrim(pc.binary_join_element_wise(".", parts[3], ""), characters="0")
    fraction = pc.ascii_rtrim(fraction, characters=".")
    clock = pc.binary_join_element_wise(parts[0], parts[1], parts[2], ":")
    text = pc.binary_join_element_wise(pa.array(np.where(shown, " ", "")), pa.array(sign), clock, fraction, "")
    return pc.if_else(pa.array((micros != 0) | ~shown), text, "")


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.void]:
    """Items of 16 bytes; zeros where the column is NULL."""
    records = _fields(array)
    out = np.empty(len(array), _BINARY)
    nanos = records["nanos"]
    out["micros"] = np.sign(nanos) * (np.abs(nanos) // 1000)
    out["days"] = records["days"]
    out["months"] = records["months"]
    return out


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Intervals have no form that Arrow reads; see `forms.parse_column`."""
    return pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
