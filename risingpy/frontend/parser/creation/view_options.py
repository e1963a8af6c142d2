"""The options of a materialized view: CREATE MATERIALIZED VIEW name WITH (recursion_limit = 100, ttl = …) AS query.

`refresh_interval_sec`, `backfill_rate_limit`, and those that have no effect here, are RisingWave's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from risingpy.errors import InvalidParameterValue
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor

_RECURSION_LIMIT, _TTL, _REFRESH = "recursion_limit", "ttl", "refresh_interval_sec"
_BACKFILL = "backfill_rate_limit"
_WITHOUT_EFFECT = ("resource_group", "backfill_order", "cloud.serverless_backfill_enabled", "source_rate_limit")
_OPTIONS = (_RECURSION_LIMIT, _TTL, _REFRESH, _BACKFILL, *_WITHOUT_EFFECT)
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What WITH says."""

    recursion_limit: int | None = None
    ttl: OptionText | None = None
    refresh_seconds: int | None = None
    backfill_rate_limit: int | None = None
    without_effect: tuple[str, ...] = ()


def parse_view_options(cursor: Cursor) -> ViewOptions:
    """`WITH (…)`."""
    cursor.expect("WITH")
    reader = OptionsReader(cursor)
    position = cursor.position
    options = reader.read()
    names = [name for name, _ in options]
    for name in (*names, *(each.option for each in reader.references)):
        if name not in _OPTIONS or reader.references:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"', position=position)
        if names.count(name) > 1:
            raise InvalidParameterValue(f'parameter "{name}" specified more than once', position=position)
    given = dict(options)
    ttl = None if _TTL not in given else OptionText(given[_TTL], position)
    return ViewOptions(
        _number(given, _RECURSION_LIMIT, position, "It is the number of steps that a recursion may take, at least 1."),
        ttl,
        _number(given, _REFRESH, position, "It is the number of seconds from one refresh to the next, at least 1."),
        _number(given, _BACKFILL, position, "It is a number of rows a second, or 0 to pause.", least=0),
        tuple(name for name in _WITHOUT_EFFECT if name in given),
    )


def _number(given: Mapping[str, str], name: str, position: int, hint: str, *, least: int = 1) -> int | None:
    value = given.get(name)
    if value is not None and not (value.isascii() and value.isdigit() and least <= int(value) <= _MOST):
        message = f'invalid value for parameter "{name}": "{value}"'
        raise InvalidParameterValue(message, position=position, hint=hint)
    return None if value is None else int(value)
