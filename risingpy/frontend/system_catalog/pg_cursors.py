"""pg_cursors and pg_prepared_statements of this session."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation


def _cursors(state: SystemState) -> Iterable[Row]:
    for cursor in state.cursors:
        yield cursor.name, cursor.text, cursor.holds, cursor.is_binary, cursor.scrolls, cursor.made_at


def _statements(state: SystemState) -> Iterable[Row]:
    for each in state.statements:
        results = None if each.result_types is None else list(each.result_types)
        yield (
            *(each.name, each.text, each.prepared_at, list(each.parameter_types), results, each.from_sql),
            *(0, 0),  # there are no generic plans and no custom plans to count
        )


PG_CURSORS = relation(
    "pg_catalog",
    "pg_cursors",
    "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time timestamptz",
    _cursors,
)
PG_PREPARED_STATEMENTS = relation(
    "pg_catalog",
    "pg_prepared_statements",
    "name text, statement text, prepare_time timestamptz, parameter_types _text, result_types _text, from_sql bool,"
    "generic_plans int8, custom_plans int8",
    _statements,
)
