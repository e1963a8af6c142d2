"""Texts that read the clock, such as 'tomorrow 10:00', as times: of a text, a time zone, and the statement's now()."""

from __future__ import annotations

from datetime import UTC, datetime

from risingpy.functions.topics.calling import Function, by_row
from risingpy.types import DATE, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType, date_and_time

PREFIX = "clock_words_"


def name_for(target: SqlType) -> str:
    """The function that gives a value of the type."""
    return f"{PREFIX}{target.kind.name.lower()}"


def _reading(target: SqlType) -> Function:
    def one(text: str, zone: str, now: datetime) -> object:
        return date_and_time.parse(target, text, zone, now.astimezone(UTC))

    return Function(by_row(one, target.arrow))


CLOCK_WORDS: dict[str, Function] = {name_for(each): _reading(each) for each in (DATE, TIME, TIMESTAMP, TIMESTAMPTZ)}
