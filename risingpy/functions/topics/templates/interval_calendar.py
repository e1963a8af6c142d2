"""Days and ISO weeks of an interval's years, months and days, which PostgreSQL's to_char reads as a date.

They have no meaning, but `to_char(interval '0', 'IYYY')` is `-001` there, and so it is here. The formulas are those of
PostgreSQL's `date2j`, `date2isoweek` and `date2isoyear`, in 32 bits with C's division, so that huge intervals wrap as
they do there.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = "npt.NDArray[np.int32]"


def _over(number: Integers, divisor: int) -> Integers:
    quotient: Integers = np.sign(number) * (np.abs(number) // np.int32(divisor))
    return quotient


def julian_day(year: Integers, month: Integers, day: Integers) -> Integers:
    """PostgreSQL's `date2j` on int32 columns; month and day need not be of a calendar."""
    late = month > 2
    month = np.where(late, month + np.int32(1), month + np.int32(13))
    year = np.where(late, year + np.int32(4800), year + np.int32(4799))
    century = _over(year, 100)
    days = year * np.int32(365) - np.int32(32167) + _over(year, 4) - century + _over(century, 4)
    julian: Integers = days + _over(np.int32(7834) * month, 256) + day
    return julian


def _first_monday(year: Integers) -> Integers:
    """The Monday of the week with January 4th."""
    fourth = julian_day(year, np.ones_like(year), np.full_like(year, 4))
    return fourth - fourth % np.int32(7)


def iso_week_and_year(year: Integers, month: Integers, day: Integers) -> tuple[Integers, Integers]:
    """PostgreSQL's `date2isoweek` and `date2isoyear`: the week, from 1, and the year that it belongs to."""
    at = julian_day(year, month, day)
    early = at < _first_monday(year)
    iso_year = np.where(early, year - np.int32(1), year)
    week = _over(at - _first_monday(iso_year), 7) + np.int32(1)
    following = _first_monday(year + np.int32(1))
    late = (week >= 52) & (at >= following)
    week = np.where(late, _over(at - following, 7) + np.int32(1), week)
    # Of its own year, which may be the one before by now.
    iso_year = np.where((week >= 52) & (at >= _first_monday(iso_year + np.int32(1))), iso_year + np.int32(1), iso_year)
    return week, np.where(late, year + np.int32(1), iso_year)


def iso_day_of_year(year: Integers, month: Integers, day: Integers) -> Integers:
    """Days since the Monday of the ISO year's first week, from 1: to_char's IDDD."""
    iso_year = iso_week_and_year(year, month, day)[1]
    days: Integers = julian_day(year, month, day) - _first_monday(iso_year) + np.int32(1)
    return days
