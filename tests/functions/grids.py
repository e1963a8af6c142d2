"""Argument grids: named lists of values of a type, with the edges where engines differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """Values, as literals of the SQL type `type`; None is NULL."""

    type: str
    values: tuple[str | None, ...]


def _grid(type_: str, *values: str | None) -> Grid:
    return Grid(type_, (*values, None))


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
    "bool": _grid("boolean", "t", "f"),
    "int2": _grid("smallint", "0", "1", "-1", "7", "-8", "32767", "-32768"),
    "int4": _grid("integer", "0", "1", "-1", "3", "-7", "40", "12", "100", "2147483647", "-2147483648"),
    "int4.small": _grid("integer", "0", "1", "-1", "2", "3", "-3", "5", "10", "17", "-20"),
    "int4.position": _grid("integer", "0", "1", "2", "3", "-1", "-5", "100", "2147483647", "-2147483648"),
    "int4.length": _grid("integer", "0", "1", "2", "5", "-1", "12", "300"),
    "int4.count": _grid("integer", "1", "5", "10", "0", "-1", "2147483647"),
    "int8": _grid(
        "bigint", "0", "1", "-1", "12", "-7", "100", "255", "4294967296", "9223372036854775807", "-9223372036854775808"
    ),
    "int8.factorial": _grid("bigint", "0", "1", "2", "5", "20", "21", "30", "33", "-1", "-5"),
    "float4": _grid("real", "0", "1.5", "-2.5", "3e20", "0.1", "1e-30", "NaN", "Infinity", "-Infinity", "-0"),
    "float8": _grid("double precision", *_FLOATS),
    "float8.small": _grid("double precision", "0", "1", "-1", "0.5", "2.5", "-3.5", "0.1", "3", "-0", "NaN"),
    "float8.unit": _grid("double precision", "0", "1", "-1", "0.5", "-0.5", "0.1", "-0.9", "2", "NaN", "0.70710678118"),
    "numeric": _grid("numeric", *_NUMERICS),
    "numeric.declared": _grid("numeric(12,4)", "0", "1.25", "-2.5", "123.455", "-0.005", "44444444.44"),
    "numeric.positive": _grid("numeric", "0.5", "1", "2", "10", "1.05", "0.95", "123.456", "0.0000001", "1000000", "3"),
    "numeric.small": _grid("numeric", "0", "1", "-1", "0.5", "-2", "3", "2.5", "-1.5", "10", "0.1"),
    "numeric.whole": _grid("numeric", "0", "1", "-1", "12", "18", "-7", "100.5", "330", "462", "0.25"),
    "text": _grid("varchar", *_TEXTS),
    "text.fill": _grid("varchar", "", " ", "xy", "日本", "ab", "*"),
    "text.part": _grid("varchar", "", "a", "abc", "lo", "xyz", "本", "z", "A", "\u00fc", ","),
    "text.pattern": _grid(
        "varchar", "", "%", "a%", "%b_c", "_bc", "%o w%", "a\\%b", "a#%b", "日%", "\\a", "Hello World"
    ),
    "text.regex": _grid(
        "varchar",
        "a",
        "^a",
        "c$",
        "b+",
        "[a-c]+",
        "(a)(b)?",
        "[[:alpha:]]+",
        "[[:upper:]]",
        "\\d+",
        "\\w+",
        "\\s",
        "a|abc",
        "x*",
        "(?i)HELLO",
        "l+?",
        ".*?o",
        "(a|ab)(c|bcd)?",
        "(.)\\1",
        "\\mW",
        "\\yworld\\y",
        "o\\M",
        "[^a-z ]",
        "a{2}",
        "a{1,2}",
        "(?=l)l",
        "",
        ".",
        "日.",
        "\\u65e5",
        "[",
        "(",
        "a**",
        "*a",
        "\\q",
        "a{2,1}",
        "a{300}",
        "[b-a]",
        "***=a%b",
        "[[:foo:]]",
        "\\.",
        "(?x) a b # c",
        "(?:ab)+",
        ",+",
        "[]a]",
        "[^]a]",
        "l{2}o",
        "\\x41",
    ),
    "text.replacement": _grid("varchar", "", "X", "[\\&]", "<\\1>", "\\2\\1", "\\\\", "a\\qb", "\\"),
    "text.flags": _grid("varchar", "", "g", "i", "gi", "n", "x", "z", "c", "s"),
    "text.similar": _grid(
        "varchar", "abc", "%", "a%", "%(b|l)%", "[a-c]{3}", "_{3}", "(a|b)+c", "a\\%b%", "%o w%", "%日%", "", "a*"
    ),
    "text.template": _grid(
        "varchar", "%s", "%I and %L", "%2$s-%1$s", "100%%", "%-10s|", "%10s|", "%*s|", "%", "%q", "x", "%3$s", "%s %s"
    ),
    "text.encoded": _grid(
        "varchar", "", "6162", "616", "zz", "YWJj", "YW Jj", "YWJ", "YQ==", "a\\\\b", "a\\001", "a\\9", "日", "é"
    ),
    "text.encoding": _grid("varchar", "hex", "base64", "escape", "HEX", "rot13"),
    "text.charset": _grid("varchar", "UTF8", "latin1", "SQL_ASCII", "WIN1252", "nope"),
    "bytea": _grid("bytea", "\\x", "\\x6162", "\\x00ff", "\\x616263646566", "\\xe697a5", "\\x5c27", "\\x01"),
    "date": _grid("date", *_DATES),
    "time": _grid("time", "00:00:00", "13:14:15.5", "23:59:59.999999", "04:05:06", "12:00:00"),
    "timestamp": _grid("timestamp", *_TIMESTAMPS),
    "timestamptz": _grid("timestamptz", *(f"{t}+00" for t in _TIMESTAMPS if t[0] != "9" and t[:4] != "0001")),
    "interval": _grid("interval", *_INTERVALS),
    "text.unit": _grid(
        "varchar",
        "year",
        "month",
        "day",
        "hour",
        "week",
        "quarter",
        "minute",
        "second",
        "milliseconds",
        "microseconds",
        "decade",
        "century",
        "millennium",
        "DAY",
        "fortnight",
    ),
    "timestamp.usual": _grid("timestamp", *(t for t in _TIMESTAMPS if t[:4] not in ("0001", "9999"))),
    "date.usual": _grid("date", *(t for t in _DATES if t[:4] not in ("0001", "9999"))),
    "text.moment": _grid(
        "varchar",
        "2020-02-29 10:00:00",
        "2021-03-28 02:30:00",
        "2021-10-31 02:30",
        "2020-01-01 00:00:00+00",
        "2020-06-01 12:00 America/New_York",
        "x",
        "2020-01-01",
    ),
    "interval.short": _grid(
        "interval", "1 hour", "-02:30", "15 min", "7 days", "00:00:00", "-1 days", "90 sec", "1 mon"
    ),
    "timestamptz.future": _grid(
        "timestamptz", "2050-07-01 12:00+00", "2100-01-01 00:00+00", "2045-03-12 06:59:59+00", "2077-11-07 05:30+00"
    ),
    "zone": _grid("varchar", "UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "+02", "EST", "Nowhere/Land"),
}
