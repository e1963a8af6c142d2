"""The options of a materialized view: CREATE MATERIALIZED VIEW name WITH (recursion_limit = 100) AS query."""

from __future__ import annotations

from risingpy.errors import InvalidParameterValue
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor

_RECURSION_LIMIT = "recursion_limit"
_MOST_STEPS = 2**31 - 1


def parse_recursion_limit(cursor: Cursor) -> int | None:
    """The `recursion_limit` of `WITH (…)`, None if it is not among the options. There are no others."""
    cursor.expect("WITH")
    reader = OptionsReader(cursor)
    position = cursor.position
    options = reader.read()
    for name in (*(name for name, _ in options), *(each.option for each in reader.references)):
        if name != _RECURSION_LIMIT or reader.references:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"', position=position)
    if not options:
        return None
    (_, value), *more = options
    if more:
        raise InvalidParameterValue(f'parameter "{_RECURSION_LIMIT}" specified more than once', position=position)
    if not (value.isascii() and value.isdigit() and 0 < int(value) <= _MOST_STEPS):
        raise InvalidParameterValue(
            f'invalid value for parameter "{_RECURSION_LIMIT}": "{value}"',
            position=position,
            hint="It is the number of steps that a WITH RECURSIVE may take, at least 1.",
        )
    return int(value)
