"""Texts that read the clock, such as 'tomorrow 10:00', as times: of a text, a time zone, and the statement's now()."""

from __future__ import annotations

from datetime import UTC, datetime

from risingpy.functions.topics.calling import Function, by_row
from risingpy.types import DATE, TIME, TIMESTAMP, TIMESTAMP_NS, TIMESTAMPTZ, SqlType, TypeKind, date_and_time
from risingpy.types.clocks import timestamp_ns

PREFIX = "clock_words_"
_TYPES = (DATE, TIME, TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS)


def name_for(target: SqlType) -> str:
    """The function that gives a value of the type."""
    return f"{PREFIX}{target.kind.name.lower()}"


def parse_at(target: SqlType, text: str, zone: str, now: datetime) -> object:
    """The value that the text has at this moment, in UTC. Raises what the text deserves (22007)."""
    forms = timestamp_ns if target.kind is TypeKind.TIMESTAMP_NS else date_and_time
    return forms.parse(target, text, zone, now)


def _reading(target: SqlType) -> Function:
    def one(text: str, zone: str, now: datetime) -> object:
        return parse_at(target, text, zone, now.astimezone(UTC))

    return Function(by_row(one, target.arrow))


CLOCK_WORDS: dict[str, Function] = {name_for(each): _reading(each) for each in _TYPES}
