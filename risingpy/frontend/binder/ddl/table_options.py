"""WITH (row_timestamp = …) of tables, and the options that ALTER TABLE … SET and RESET change."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.frontend.binder.ddl.end_of_rows import altered_end_of_rows, without_ttl
from risingpy.frontend.parser.ast import CreateTable
from risingpy.frontend.parser.ast_alter import ResetTtl, SetEndOfRows, SetRowTimestamp
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.plan.catalog import Catalog, Table

_BOOLEANS = {"true": True, "on": True, "false": False, "off": False}


def has_times(statement: CreateTable) -> bool:
    """Whether the table keeps when its rows were written.

    Raises FeatureNotSupported for a table whose rows end silently: their times would stay.
    """
    given = statement.row_timestamp
    if given is None or not _boolean(given):
        return False
    by_watermark = statement.watermark is not None and statement.watermark.ttl
    _refuse_silent_ends(statement.name.name, given, is_silent=by_watermark or statement.retention is not None)
    return True


def with_option(catalog: Catalog, table: Table, action: SetEndOfRows | ResetTtl | SetRowTimestamp) -> Table:
    """The table with an option set or reset. State tables that it gets have the id 0 until the change is made."""
    match action:
        case SetEndOfRows():
            return altered_end_of_rows(catalog, table, action)
        case ResetTtl():
            return without_ttl(table)
        case SetRowTimestamp(given):
            if given is None or not _boolean(given):
                return replace(table, times_of_rows=None)
            _refuse_silent_ends(table.name, given, is_silent=table.ends_rows)
            return table if table.times_of_rows is not None else replace(table, times_of_rows=0)
    assert_never(action)


def _refuse_silent_ends(table: str, given: OptionText, *, is_silent: bool) -> None:
    if is_silent:
        message = f'row_timestamp of table "{table}" is not supported: its rows end without a change'
        hint = "WITH (ttl = …) deletes rows, and keeps their times."
        raise FeatureNotSupported(message, position=given.position, hint=hint)


def _boolean(given: OptionText) -> bool:
    value = _BOOLEANS.get(given.text.lower())
    if value is None:
        message = f'invalid value for parameter "row_timestamp": "{given.text}"'
        raise InvalidParameterValue(message, position=given.position, hint="It is true or false.")
    return value
