"""to_date and to_timestamp: reads texts by a template, as PostgreSQL 15's DCH_from_char does."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.functions.topics.templates.datetime_output import DAYS, MONTHS, ROMAN
from risingpy.functions.topics.templates.datetime_templates import Template, TemplatePiece, read_template
from risingpy.functions.topics.times.dates_and_times import dates, days_of_months, instants
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.time_precision import MOST_DIGITS, rounded_column
from risingpy.types.time_zones import time_zone

_INTEGER = re.compile(r"\s*([+-]?\d+)")
_LENGTHS = {
    "HH": 2, "HH12": 2, "HH24": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 5, "SSSSS": 5, "MM": 2, "DD": 2,
    "DDD": 3, "IDDD": 3, "D": 1, "ID": 1, "WW": 2, "IW": 2, "W": 1, "CC": 2, "YYYY": 4, "YYY": 3, "YY": 2, "Y": 1,
    "IYYY": 4, "IYY": 3, "IY": 2, "I": 1, "J": 18, "Q": 1, "TZH": 2, "TZM": 2, **{f"FF{n}": n for n in range(1, 7)},
}  # fmt: skip
_YEARS = ("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I")
_ISO_ONLY = frozenset(("IYYY", "IYY", "IY", "I", "IW", "ID", "IDDD"))
_GREGORIAN_ONLY = frozenset(
    ("YYYY", "YYY", "YY", "Y", "Y,YYY", "MM", "MONTH", "MON", "DD", "DDD", "D", "WW", "W", "RM")
)
_JULIAN_1970 = 2_440_588
_LAST_YEAR = 6_000_000  # beyond those of dates


def _invalid(value: str, keyword: str) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'invalid value "{value}" for "{keyword}"', sqlstate="22007")


@dataclass(slots=True)
class Fields:
    """What was read, by field; `text` is the whole input, for errors."""

    text: str
    values: dict[str, int] = field(default_factory=dict)

    def set(self, name: str, value: int, keyword: str) -> None:
        if self.values.get(name, value) != value:
            message = f'conflicting values for "{keyword}" field in formatting string'
            raise InvalidTextRepresentation(message, sqlstate="22007")
        self.values[name] = value

    def get(self, name: str, default: int = 0) -> int:
        return self.values.get(name, default)


class _Reader:
    """Reads one text by the template's pieces."""

    def __init__(self, template: Template, text: str) -> None:
        self.pieces = template.pieces
        self.exact = template.exact
        self.text = text
        self.at = 0
        self.skipped = 0
        self.fields = Fields(text)

    def read(self) -> Fields:
        for number, piece in enumerate(self.pieces):
            if self.at >= len(self.text):
                break
            if not self.exact and (piece.keyword is not None or number == 0):
                self._skip_blanks()
            if piece.keyword is None:
                self._literal(piece)
                continue
            self._keyword(piece, self._slurps(number))
            if not self.exact:
                self.skipped = 0
                self._skip_blanks()
        return self.fields

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
            self.skipped += 1

    def _literal(self, piece: TemplatePiece) -> None:
        if self.exact:
            self.at += 1
        elif not piece.quoted and _is_separator(piece.text):
            self.skipped -= 1
            char = self.text[self.at]
            if _is_separator(char):
                self.at += 1
                self.skipped += 1
        elif self.skipped > 0:
            self.skipped -= 1
        else:
            self.at += 1

    def _slurps(self, number: int) -> bool:
        """Whether a number ends only where its digits end: nothing with digits follows at once."""
        piece = self.pieces[number]
        if not piece.fill or piece.ordinal or number + 1 == len(self.pieces):
            return True
        following = self.pieces[number + 1]
        if following.keyword is None:
            return not following.text.isdigit()
        return following.keyword.upper() not in _LENGTHS and following.keyword != "Y,YYY"

    def _integer(self, keyword: str, slurps: bool, length: int | None = None) -> tuple[int, int]:
        """The number and how many characters it had."""
        size = _LENGTHS[keyword] if length is None else length
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        rest = self.text[self.at :]
        part = rest if slurps else rest[:size]
        if not slurps and len(part) < size:
            message = f'source string too short for "{keyword}" formatting field'
            raise InvalidTextRepresentation(message, sqlstate="22007")
        found = _INTEGER.match(part)
        if found is None or (not slurps and found.end() < size):
            raise _invalid(part[:size], keyword)
        value = int(found[1])
        if not -(2**31) <= value < 2**31:
            message = f'value for "{keyword}" in source string is out of range'
            raise InvalidTextRepresentation(message, sqlstate="22008")
        self.at += found.end()
        return value, found.end()

    def _choice(self, names: tuple[str, ...], keyword: str) -> int:
        rest = self.text[self.at :].lower()
        for index, name in enumerate(names):
            if rest.startswith(name.lower()):
                self.at += len(name)
                return index
        raise _invalid(re.match(r"\S*", self.text[self.at :])[0], keyword)  # type: ignore[index]

    def _keyword(self, piece: TemplatePiece, slurps: bool) -> None:
        keyword = piece.keyword
        assert keyword is not None
        self._note_convention(keyword.upper())
        if keyword in _LENGTHS:
            self._number(keyword, slurps)
        else:
            self._word(keyword)
        if piece.ordinal and self.at < len(self.text):
            self.at = min(len(self.text), self.at + 2)

    def _note_convention(self, keyword: str) -> None:
        """Raises an error if a template mixes ISO weeks with other dates."""
        if keyword not in _ISO_ONLY and keyword not in _GREGORIAN_ONLY:
            return
        iso = int(keyword in _ISO_ONLY)
        if self.fields.values.setdefault("iso", iso) != iso:
            hint = "Do not mix Gregorian and ISO week date conventions in a formatting template."
            raise SqlError("invalid combination of date conventions", sqlstate="22007", hint=hint)

    def _number(self, keyword: str, slurps: bool) -> None:
        if keyword == "TZH":
            self._zone_hours(slurps)
            return
        value, length = self._integer(keyword, slurps)
        name = {"HH12": "HH", "HH24": "HH", "SSSSS": "SSSS"}.get(keyword, keyword)
        if keyword == "MS":
            value *= 10 ** max(0, 3 - length)
        elif keyword == "US" or keyword.startswith("FF"):
            name = "US"
            value *= 10 ** max(0, 6 - length)
            if keyword != "US":
                self.fields.values["digits"] = int(keyword[2:])
        elif keyword in _YEARS:
            name = "year"
            value = _near_2020(value) if keyword not in ("YYYY", "IYYY") and length < 4 else value
        self.fields.set(name, value, keyword)
        if keyword in ("HH", "HH12"):
            self.fields.values["twelve"] = 1

    def _zone_hours(self, slurps: bool) -> None:
        sign = 1
        if self.at < len(self.text) and self.text[self.at] in "+- ":
            sign = -1 if self.text[self.at] == "-" else 1
            self.at += 1
        elif self.skipped > 0 and self.text[self.at - 1] == "-":
            sign = -1
        value, _ = self._integer("TZH", slurps)
        self.fields.set("zone_sign", sign, "TZH")
        self.fields.set("TZH", value, "TZH")

    def _word(self, keyword: str) -> None:
        match keyword.lower().replace(".", ""):
            case "am" | "pm":
                dotted = "." in keyword
                self.fields.set("PM", self._choice(("a.m.", "p.m.") if dotted else ("am", "pm"), keyword), keyword)
            case "bc" | "ad":
                dotted = "." in keyword
                self.fields.set("BC", self._choice(("a.d.", "b.c.") if dotted else ("ad", "bc"), keyword), keyword)
            case "month":
                self.fields.set("MM", self._choice(MONTHS, keyword) + 1, keyword)
            case "mon":
                self.fields.set("MM", self._choice(tuple(m[:3] for m in MONTHS), keyword) + 1, keyword)
            case "day":
                self.fields.set("D", self._choice(DAYS, keyword) + 1, keyword)
            case "dy":
                self.fields.set("D", self._choice(tuple(d[:3] for d in DAYS), keyword) + 1, keyword)
            case "rm":
                longest = tuple(sorted(ROMAN, key=len, reverse=True))
                self.fields.set("MM", ROMAN.index(longest[self._choice(longest, keyword)]) + 1, keyword)
            case "y,yyy":
                found = re.compile(r"(\d+),(\d{3})").match(self.text, self.at)
                if found is None:
                    message = 'invalid input string for "Y,YYY"'
                    raise InvalidTextRepresentation(message, sqlstate="22007")
                self.at = found.end()
                self.fields.set("year", int(found[1]) * 1000 + int(found[2]), keyword)
            case _:
                raise FeatureNotSupported(f'formatting field "{keyword}" is only supported in to_char')


class StandardReader(_Reader):
    """Reads as SQL's standard demands: separators must be those of the template, and the text must end with it."""

    def __init__(self, template: Template, text: str) -> None:
        super().__init__(template, text)
        self.exact = True

    def read(self) -> Fields:
        for number, piece in enumerate(self.pieces):
            if self.at >= len(self.text):
                raise InvalidTextRepresentation("input string is too short for datetime format", sqlstate="22007")
            if piece.keyword is not None:
                self._keyword(piece, self._slurps(number))
            elif piece.quoted:
                self._literal(piece)
            elif self.text[self.at : self.at + 1] == piece.text:
                self.at += 1
            else:
                raise InvalidTextRepresentation(f'unmatched format separator "{piece.text}"', sqlstate="22007")
        if self.text[self.at :].strip():
            message = "trailing characters remain in input string after datetime format"
            raise InvalidTextRepresentation(message, sqlstate="22007")
        return self.fields


def _is_separator(char: str) -> bool:
    return char.isspace() or (" " < char < "\x7f" and not char.isalnum())


def _near_2020(year: int) -> int:
    if year < 70:
        return year + 2000
    if year < 100:
        return year + 1900
    return year + (2000 if year < 520 else 1000)


def wall_clock_of(f: Fields) -> int:
    """The wall clock of the fields, in microseconds since 1970."""
    return _days(f) * MICROS_OF_DAY + clock_of(f)


def _out_of_range(f: Fields) -> InvalidTextRepresentation:
    return InvalidTextRepresentation(f'date/time field value out of range: "{f.text}"', sqlstate="22008")


def clock_of(f: Fields) -> int:
    """Microseconds since midnight.

    Raises 22007 for an hour beyond 12 on the 12-hour clock, and the fields' error for others out of range.
    """
    hour, minute, second = f.get("HH"), f.get("MI"), f.get("SS")
    if "SSSS" in f.values:
        seconds = f.get("SSSS")
        hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    if f.get("twelve"):
        if not 1 <= hour <= 12:
            hint = "Use the 24-hour clock, or give an hour between 1 and 12."
            raise SqlError(f'hour "{hour}" is invalid for the 12-hour clock', sqlstate="22007", hint=hint)
        if "PM" in f.values:
            hour = hour % 12 + 12 * f.get("PM")
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        raise _out_of_range(f)
    fraction = f.get("MS") * 1000 + f.get("US")
    if not 0 <= fraction < 1_000_000:
        raise _out_of_range(f)
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def _month_begin(year: int, month: int) -> int:
    return int(days_of_months(np.array([(year - 1970) * 12 + month - 1]))[0])


def _days(f: Fields) -> int:
    if "J" in f.values:
        return f.get("J") - _JULIAN_1970
    year = _year(f)
    if f.get("iso") and (f.get("IW") or f.get("IDDD")):
        return _iso_days(f, year)
    month, day = f.get("MM") or 1, f.get("DD") or 1
    if f.get("W"):
        day = (f.get("W") - 1) * 7 + 1
    day_of_year = (f.get("WW") - 1) * 7 + 1 if f.get("WW") else f.get("DDD")
    if day_of_year and (month <= 1 or day <= 1):
        return _by_day_of_year(f, year, month, day, day_of_year)
    return _checked_day(f, year, month, day)


def _checked_day(f: Fields, year: int, month: int, day: int) -> int:
    if not 1 <= month <= 12 or not 1 <= day <= _month_begin(year, month + 1) - _month_begin(year, month):
        raise _out_of_range(f)
    return _month_begin(year, month) + day - 1


def _by_day_of_year(f: Fields, year: int, month: int, day: int, day_of_year: int) -> int:
    """Fills in a month and a day that were not given."""
    if not f.get("year") and not f.get("CC"):
        message = "cannot calculate day of year without year information"
        raise InvalidTextRepresentation(message, sqlstate="22007")
    begins = [_month_begin(year, number) - _month_begin(year, 1) for number in range(1, 14)]
    if not 1 <= day_of_year <= begins[12]:
        raise _out_of_range(f)
    within = max(number for number in range(1, 13) if begins[number - 1] < day_of_year)
    month = within if month <= 1 else month
    return _checked_day(f, year, month, day_of_year - begins[within - 1] if day <= 1 else day)


def _year(f: Fields) -> int:
    """The year, of which 0 is 1 BC."""
    year, century = f.get("year"), f.get("CC")
    sign = -1 if f.get("BC") else 1
    if century and "year" in f.values:
        year = _year_of_century(year % 100, sign * century)
    elif century:
        year = (sign * century - (1 if sign * century >= 0 else 0)) * 100 + 1
    else:
        year = sign * year
        year += 1 if year < 0 else 0
    if abs(year) > _LAST_YEAR:
        raise _out_of_range(f)
    return year


def _year_of_century(last_digits: int, century: int) -> int:
    if century >= 0:
        return last_digits + (century - 1) * 100 if last_digits else century * 100
    return (century + 1) * 100 - last_digits + 1 if last_digits else century * 100 + 1


def _iso_days(f: Fields, year: int) -> int:
    fourth = _month_begin(year, 1) + 3
    monday = fourth - (fourth + 3) % 7
    if f.get("IDDD"):
        return monday + f.get("IDDD") - 1
    weekday = f.get("ID") or 1
    return monday + (f.get("IW") - 1) * 7 + min(weekday, 7) - 1


def _rounded(micros: int, digits: int) -> int:
    """A wall clock to the digits that FF1 to FF6 say, halves away from 2000, as PostgreSQL rounds timestamps."""
    if digits >= MOST_DIGITS:
        return micros
    return int(rounded_column(pa.array([micros]).cast(pa.timestamp("us")), digits)[0].value)


def _to_date(text: str) -> Compute:
    template = read_template(text)
    parse = by_row(lambda value: wall_clock_of(_Reader(template, value).read()), pa.int64())
    return lambda column: dates(parse(column).to_numpy() // MICROS_OF_DAY)


def _to_timestamp(text: str, zone_name: str) -> Compute:
    template = read_template(text)
    zone = time_zone(zone_name)

    def one(value: str) -> tuple[int, int | None]:
        fields = _Reader(template, value).read()
        offset = None
        if "TZH" in fields.values or "TZM" in fields.values:
            offset = fields.get("zone_sign", 1) * (fields.get("TZH") * 60 + fields.get("TZM")) * 60
        return _rounded(wall_clock_of(fields), fields.get("digits", MOST_DIGITS)), offset

    parse = by_row(one, pa.struct([("0", pa.int64()), ("1", pa.int64())]))

    def computed(column: pa.Array) -> pa.Array:
        read = parse(column)
        local, offsets = (read.field(k) for k in range(2))
        wall = local.to_numpy()
        given = offsets.fill_null(0).to_numpy()
        return instants(
            np.where(offsets.is_valid().to_numpy(zero_copy_only=False), wall - given * 1_000_000, zone.to_utc(wall))
        )

    return computed


DATETIME_INPUT: dict[str, Function] = {
    "to_date": Function(per_constant(_to_date, [1])),
    "to_timestamp_text": Function(per_constant(_to_timestamp, [1, 2])),
}
