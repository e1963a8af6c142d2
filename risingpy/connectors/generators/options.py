"""Options of generators: whole numbers and moments, checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from risingpy.errors import InvalidParameterValue

_MICROSECOND = timedelta(microseconds=1)


def whole_option(options: Mapping[str, str], name: str, default: int, lowest: int, highest: int) -> int:
    """A whole number of `lowest` to `highest`. Raises InvalidParameterValue."""
    text = options.get(name)
    if text is None:
        return default
    try:
        found = int(text)
    except ValueError as error:
        raise InvalidParameterValue(f'option "{name}" is a whole number, not "{text}"') from error
    if not lowest <= found <= highest:
        raise InvalidParameterValue(f'option "{name}" is {lowest} to {highest}, not {found}')
    return found


def moment_option(options: Mapping[str, str], name: str) -> int | None:
    """A moment in microseconds since 1970; None if it is not given. Without a zone it is UTC's.

    Raises InvalidParameterValue.
    """
    text = options.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidParameterValue(f'option "{name}" is a time, not "{text}"') from error
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
