"""pg_timezone_names and pg_timezone_abbrevs: the time zones, and what their clocks say now."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.types.clocks.zone_abbreviations import ABBREVIATIONS, SUMMER, ZONE_OF
from risingpy.types.time_zones import time_zone, tzinfo_of


def _names(state: SystemState) -> Iterable[Row]:
    now = datetime.now(UTC)
    for name in zoneinfo.available_timezones():
        there = now.astimezone(tzinfo_of(name))
        distance = there.utcoffset() or timedelta()
        yield name, there.tzname(), _interval(int(distance.total_seconds())), bool(there.dst())


def _abbreviations(state: SystemState) -> Iterable[Row]:
    """Of abbreviations whose distance has changed, today's."""
    now = datetime.now(UTC)
    for name, seconds in ABBREVIATIONS.items():
        yield name.upper(), _interval(seconds), name in SUMMER
    instant = np.array([int(now.timestamp()) * 1_000_000])
    for name, zone in ZONE_OF.items():
        is_dst = bool(now.astimezone(tzinfo_of(zone)).dst())
        yield name.upper(), _interval(int(time_zone(name).offsets_at(instant)[0])), is_dst


def _interval(seconds: int) -> pa.MonthDayNano:
    return pa.MonthDayNano([0, 0, seconds * 1_000_000_000])


TIME_ZONE_NAMES = relation(
    "pg_catalog", "pg_timezone_names", "name text, abbrev text, utc_offset interval, is_dst bool", _names
)
TIME_ZONE_ABBREVIATIONS = relation(
    "pg_catalog", "pg_timezone_abbrevs", "abbrev text, utc_offset interval, is_dst bool", _abbreviations
)
