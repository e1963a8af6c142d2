"""Texts whose meaning as a time changes: `now`, `today`, `tomorrow 10:00`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from risingpy.errors import FeatureNotSupported
from risingpy.types.datetime_text import DAYS_OF_WORDS, DateTimeFields, malformed
from risingpy.types.far_moments import day_number
from risingpy.types.time_zones import tzinfo_of


def reads_clock(text: str) -> bool:
    """Whether a text like `tomorrow 10:00` may mean another time later."""
    return any(word in DAYS_OF_WORDS for word in re.findall("[a-z]+", text.lower()))


def with_clock(type_name: str, text: str, fields: DateTimeFields, now: datetime | None, time_zone: str) -> None:
    """Reads the clock of `time_zone` for the word in the fields, if there is one. `now` is a moment of a statement.

    `now` is the whole of it, the other words are midnights unless a time of day stands beside them. Raises 22007, and
    FeatureNotSupported where no statement's time is known.
    """
    if fields.clock is None:
        return
    if fields.clock == "now":
        if fields.hour is not None or fields.offset is not None:
            raise malformed(type_name, text)
    elif type_name == "time":
        raise malformed(type_name, text)
    if now is None:
        hint = "It is read in a literal: timestamptz 'today'."
        raise FeatureNotSupported(f'date/time value "{fields.clock}" is not supported here', hint=hint)
    local = now.astimezone(tzinfo_of(time_zone))
    fields.days = day_number(local.year, local.month, local.day) + DAYS_OF_WORDS[fields.clock]
    if fields.clock == "now":
        fields.hour, fields.minute, fields.second, fields.microsecond = (
            *(local.hour, local.minute, local.second),
            local.microsecond,
        )
        fields.offset = round((local.utcoffset() or timedelta()).total_seconds())
