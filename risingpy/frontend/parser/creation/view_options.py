"""The options of a materialized view: CREATE MATERIALIZED VIEW name WITH (recursion_limit = 100, ttl = …) AS query."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.errors import InvalidParameterValue
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor

_RECURSION_LIMIT, _TTL = "recursion_limit", "ttl"
_MOST_STEPS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What WITH says."""

    recursion_limit: int | None = None
    ttl: OptionText | None = None


def parse_view_options(cursor: Cursor) -> ViewOptions:
    """`WITH (…)`. There are no options but these two."""
    cursor.expect("WITH")
    reader = OptionsReader(cursor)
    position = cursor.position
    options = reader.read()
    names = [name for name, _ in options]
    for name in (*names, *(each.option for each in reader.references)):
        if name not in (_RECURSION_LIMIT, _TTL) or reader.references:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"', position=position)
        if names.count(name) > 1:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once', position=position)
    given = dict(options)
    ttl = None if _TTL not in given else OptionText(given[_TTL], position)
    return ViewOptions(_recursion_limit(given.get(_RECURSION_LIMIT), position), ttl)


def _recursion_limit(value: str | None, position: int) -> int | None:
    if value is not None and not (value.isascii() and value.isdigit() and 0 < int(value) <= _MOST_STEPS):
        raise InvalidParameterValue(
            f'invalid value for parameter "{_RECURSION_LIMIT}": "{value}"',
            position=position,
            hint="It is the number of steps that a WITH RECURSIVE may take, at least 1.",
        )
    return None if value is None else int(value)
