"""Argument grids: named lists of values of a type, with the edges where engines differ."""

from __future__ import annotations

from tests.functions.form_grids import FORM_GRIDS
from tests.functions.grid import Grid, grid
from tests.functions.range_grids import RANGE_GRIDS
from tests.functions.text_grids import TEXT_GRIDS

_FLOATS = (
    "0", "-0", "1", "-1", "0.5", "-0.5", "2.5", "-3.5", "1.5", "0.1", "10", "100", "1e-10", "1e20", "-1e20", "1e300",
    "1e-300", "5e-324", "1.7976931348623157e308", "-1.7976931348623157e308", "NaN", "Infinity", "-Infinity", "3.7",
    "30", "45", "60", "90", "180", "270", "360", "-30", "720", "0.3333333333333333",
)  # fmt: skip
_NUMERICS = (
    "0", "1", "-1", "2", "0.5", "-0.5", "1.5", "-2.5", "10", "100", "0.001", "123.456", "-123.456", "99999.99999",
    "1.05", "0.95", "0.0000001", "1000000", "3.14159265358979", "-0.000001", "12345678901234.5678", "7", "42", "1e-8",
)  # fmt: skip
_TEXTS = (
    "", "a", "abc", "Hello World", "hELLO wORLD", " padded ", "xyzabcxyz", "a%b_c", "日本語テキスト", "Ünïcödé", "ß",
    "e\u0301clair", "🙂🙃", "a\\b", "it's", 'say "x"', "tab\there", "line\nbreak", "123", "aaa", "ab,cd,,ef", "A-B_C d",
    "long " * 60, "trailing   ", "\u00a0nbsp",
)  # fmt: skip
_TIMESTAMPS = (
    "2020-02-29 13:14:15.123456", "1969-12-31 23:59:59", "2000-01-01 00:00:00", "2021-03-28 02:30:00",
    "2021-10-31 02:30:00", "1999-12-31 23:59:59.999999", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999",
    "2024-12-30 12:00:00", "2023-01-01 00:00:00", "1900-02-28 06:07:08", "2024-07-04 04:05:06.5", "2001-02-16 20:38:40",
    "2020-01-31 00:00:00", "1582-10-10 10:10:10",
)  # fmt: skip
_FAR_TIMESTAMPS = (
    "infinity", "-infinity", "0044-03-15 12:34:56.789 BC", "0001-12-31 23:59:59 BC", "4714-11-24 00:00:00 BC",
    "0101-01-01 00:00:00 BC", "10000-01-01 00:00:00", "12345-06-07 08:09:10.111213", "200000-12-31 23:59:59.999999",
)  # fmt: skip
_WITH_ZONE = [t.replace(" BC", "") + "+00" + " BC" * ("BC" in t) for t in (*_TIMESTAMPS, *_FAR_TIMESTAMPS[2:])]
_WITH_ZONE += _FAR_TIMESTAMPS[:2]
_FAR_DATES = (
    "infinity", "-infinity", "0044-03-15 BC", "0001-12-31 BC", "4714-11-24 BC", "0100-12-31 BC", "10000-01-01",
    "200000-12-31",
)  # fmt: skip
_DATES = (
    "2020-02-29", "1969-12-31", "2000-01-01", "0001-01-01", "9999-12-31", "2024-12-30", "2023-01-01", "1900-02-28",
    "2021-03-28", "2001-02-16", "2020-01-31", "1999-12-31",
)  # fmt: skip
_INTERVALS = (
    "1 mon 2 days 03:04:05.5", "-1 days", "30 days", "1 year 2 mons", "00:00:00", "-1 mons +1 day", "100 years",
    "35 days 27:00:00", "-00:00:00.000001", "1 day -01:00:00", "3 years -2 mons +4 days -05:06:07.89", "24:00:00",
    "12 hours 30 minutes", "15 mons", "-25:00:00",
)  # fmt: skip

GRIDS: dict[str, Grid] = {
    **TEXT_GRIDS,
    **FORM_GRIDS,
    **RANGE_GRIDS,
    "bool": grid("boolean", "t", "f"),
    "numeric.long": grid(
        "numeric",
        "0",
        "1",
        "12345678901234567890123456789.5",
        "0.0000000000000000000000000123",
        "99999999999999999999999999999999999",
        "1234567890123456789012345678901234567890",
        "2.000000000000000000000000000000000000001",
        "-12345678901234567890123.5",
    ),
    "numeric.exponent": grid("numeric", "0", "1", "70", "99.5", "-60.25", "50.123456789012345678901234567890", "-1"),
    "int2": grid("smallint", "0", "1", "-1", "7", "-8", "32767", "-32768"),
    "int4": grid("integer", "0", "1", "-1", "3", "-7", "40", "12", "100", "2147483647", "-2147483648"),
    "int4.small": grid("integer", "0", "1", "-1", "2", "3", "-3", "5", "10", "17", "-20"),
    "int4.position": grid("integer", "0", "1", "2", "3", "-1", "-5", "100", "2147483647", "-2147483648"),
    "int4.length": grid("integer", "0", "1", "2", "5", "-1", "12", "300"),
    "int4.count": grid("integer", "1", "5", "10", "0", "-1", "2147483647"),
    "int8": grid(
        "bigint", "0", "1", "-1", "12", "-7", "100", "255", "4294967296", "9223372036854775807", "-9223372036854775808"
    ),
    "int8.factorial": grid("bigint", "0", "1", "2", "5", "20", "21", "30", "33", "-1", "-5"),
    "float4": grid("real", "0", "1.5", "-2.5", "3e20", "0.1", "1e-30", "NaN", "Infinity", "-Infinity", "-0"),
    "float8": grid("double precision", *_FLOATS),
    "float8.small": grid("double precision", "0", "1", "-1", "0.5", "2.5", "-3.5", "0.1", "3", "-0", "NaN"),
    "float8.unit": grid("double precision", "0", "1", "-1", "0.5", "-0.5", "0.1", "-0.9", "2", "NaN", "0.70710678118"),
    "numeric": grid("numeric", *_NUMERICS),
    "numeric.declared": grid("numeric(12,4)", "0", "1.25", "-2.5", "123.455", "-0.005", "44444444.44"),
    "numeric.positive": grid("numeric", "0.5", "1", "2", "10", "1.05", "0.95", "123.456", "0.0000001", "1000000", "3"),
    "numeric.small": grid("numeric", "0", "1", "-1", "0.5", "-2", "3", "2.5", "-1.5", "10", "0.1"),
    "numeric.whole": grid("numeric", "0", "1", "-1", "12", "18", "-7", "100.5", "330", "462", "0.25"),
    "text": grid("varchar", *_TEXTS),
    "bytea": grid("bytea", "\\x", "\\x6162", "\\x00ff", "\\x616263646566", "\\xe697a5", "\\x5c27", "\\x01"),
    "bytea.pattern": grid(
        "bytea",
        "%",
        "_",
        "__%",
        "a%",
        "%b%",
        "%\\\\b",
        "\\x25ff",
        "\\xe625",
        "ab",
        "\\\\x%",
        "%\\\\\\\\_",
        "\\x5c25",
    ),
    "date": grid("date", *_DATES, *_FAR_DATES),
    "time": grid("time", "00:00:00", "13:14:15.5", "23:59:59.999999", "04:05:06", "12:00:00"),
    "date.far": grid("date", *_DATES, *_FAR_DATES, "294247-01-01", "5874897-12-31"),
    "date.finite": grid("date", *_DATES, *_FAR_DATES[2:]),
    "timestamp.finite": grid("timestamp", *_TIMESTAMPS, *_FAR_TIMESTAMPS[2:]),
    "timestamp": grid("timestamp", *_TIMESTAMPS, *_FAR_TIMESTAMPS),
    "timestamptz": grid("timestamptz", *_WITH_ZONE),
    "timestamptz.finite": grid("timestamptz", *(t for t in _WITH_ZONE if "infinity" not in t)),
    "interval": grid("interval", *_INTERVALS),
    "timestamp.usual": grid("timestamp", *(t for t in _TIMESTAMPS if t[:4] not in ("0001", "9999"))),
    "date.usual": grid("date", *(t for t in _DATES if t[:4] not in ("0001", "9999"))),
    "interval.years": grid(
        "interval",
        "00:00:00",
        "-3 years -2 mons -1 days",
        "-12345 years 5 mons",
        "-178000000 years",
        "178000000 years",
        "-100 years",
        "-1 years",
        "11 mons 29 days",
        "-11 mons",
        "400 days",
        "-400 days",
        "2019 years 11 mons 30 days",
        "1 year -1 days",
        "-1 years +1 day",
        "99 years",
        "-00:00:00.5",
    ),
    "interval.short": grid(
        "interval", "1 hour", "-02:30", "15 min", "7 days", "00:00:00", "-1 days", "90 sec", "1 mon"
    ),
    "timestamptz.future": grid(
        "timestamptz", "2050-07-01 12:00+00", "2100-01-01 00:00+00", "2045-03-12 06:59:59+00", "2077-11-07 05:30+00"
    ),
    "zone": grid("varchar", "UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "+02", "EST", "Nowhere/Land"),
}
