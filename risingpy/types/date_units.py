"""The units of time, their names and their lengths, for EXTRACT, date_part, date_trunc and the texts of intervals.

One table, PostgreSQL's: what one of them calls a unit, all of them do. Like PostgreSQL, a name is told by its first ten
letters: `microsecond`, `microseconds` and `microsecon` are one.
"""

from __future__ import annotations

MICROS_OF = {"microseconds": 1, "milliseconds": 1000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000}
"""The units of a time of day, in microseconds."""
DAYS_OF = {"day": 1, "week": 7}
YEARS_OF = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
MICROS_OF_DAY = 24 * MICROS_OF["hour"]

_SIGNIFICANT = 10  # letters of a name
_NAMES = """
microseconds microsecon microsecond us usec usecond useconds usecs
milliseconds millisecon millisecond ms msec msecond mseconds msecs
second s sec secs seconds
minute m min mins minutes
hour h hours hr hrs
day d days
week w weeks
month mon mons months
quarter qtr
year y years yr yrs
decade dec decades decs
century c cent centuries
millennium mil millennia mils
timezone
timezone_hour timezone_h
timezone_minute timezone_m
"""
# What only parts of a moment are called: no units to count or to cut in.
_PARTS = """
dow
doy
epoch
isodow
isoyear
julian j jd
minute mm
nanoseconds nanosecond nsec nsecs nsecond nseconds ns
"""


def _by_name(lines: str) -> dict[str, str]:
    names = [line.split() for line in lines.strip().splitlines()]
    return {name[:_SIGNIFICANT]: unit for unit, *others in names for name in (unit, *others)}


_UNITS = _by_name(_NAMES)
_UNITS_AND_PARTS = _by_name(_PARTS) | _UNITS
# timezone_minute and timezone_hour begin with the same ten letters as their short names.
assert len({_UNITS["timezone_h"], _UNITS["timezone_m"], _UNITS["timezone"]}) == 3


def unit_of(name: str) -> str | None:
    """The unit that a name means, in its long form (`milliseconds`); None if it means none."""
    return _UNITS.get(name.lower()[:_SIGNIFICANT])


def part_of(name: str) -> str | None:
    """The unit or the part of a moment (`dow`, `epoch`) that a name in EXTRACT means."""
    return _UNITS_AND_PARTS.get(name.lower()[:_SIGNIFICANT])
