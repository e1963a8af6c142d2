"""WITH (ttl = …) and WITH (retention_seconds = …) of tables and views, and SET of them in ALTER TABLE."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.parser.ast import CreateMaterializedView, CreateTable
from risingpy.frontend.parser.ast_alter import SetEndOfRows
from risingpy.frontend.parser.ast_constraints import ForeignKeyDefinition
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.meta.schema.tables import EndOfRows
from risingpy.plan.catalog import Catalog, RowRetention, Table
from risingpy.types import INTERVAL
from risingpy.types.forms import parse_text

_LONGEST = 100 * 366 * 86400  # a century
_DAY = 86400
_OF_TABLES_THAT_GROW = (
    "WITH (retention_seconds = …) ends rows of a table that only grows, and views keep what they made of them."
)
_SECOND = 1_000_000_000


def end_of_rows(statement: CreateTable) -> EndOfRows | None:
    """What ends rows by the clock. Raises FeatureNotSupported for tables that cannot have it."""
    if statement.ttl is not None:
        return _ttl(statement, statement.ttl)
    return None if statement.retention is None else _retention(statement, statement.retention)


def ttl_of_view(statement: CreateMaterializedView) -> int | None:
    """For how many seconds rows count for a view WITH (ttl = …).

    Raises FeatureNotSupported for EMIT ON WINDOW CLOSE, whose rows are final.
    """
    if statement.ttl is None:
        return None
    if statement.emit_on_window_close:
        message = f'ttl of materialized view "{statement.name.name}" is not supported: it emits rows on window close'
        raise FeatureNotSupported(message, position=statement.ttl.position)
    return _seconds_of_ttl(statement.ttl)


def altered_end_of_rows(catalog: Catalog, table: Table, action: SetEndOfRows) -> Table:
    """The table whose rows end later or earlier, those that are there, too.

    A table without ttl gets it; rows that are there count as written then. Its state tables have the id 0 until the
    change is made.
    """
    retention = table.retention
    is_told = action.option == "ttl"
    seconds = _seconds_of_ttl(action.given) if is_told else _seconds(action.given)
    if retention is None and is_told:
        _check("ttl", table.name, action.given, _rules_of_ttl(catalog, table), _OF_TABLES_THAT_GROW)
        return replace(table, retention=RowRetention(seconds, 0, 0))
    if retention is None or (retention.ages_table is not None) != is_told:
        message = f'table "{table.name}" was made without {action.option}: it cannot be added'
        hint = f"CREATE TABLE … WITH ({action.option} = …) makes a table that has it."
        raise FeatureNotSupported(message, position=action.given.position, hint=hint)
    return replace(table, retention=replace(retention, seconds=seconds))


def without_ttl(table: Table) -> Table:
    """The table whose rows stay. As in PostgreSQL, a parameter that is not set may be reset."""
    is_told = table.retention is not None and table.retention.ages_table is not None
    return replace(table, retention=None) if is_told else table


def _rules_of_ttl(catalog: Catalog, table: Table) -> tuple[tuple[bool, str], ...]:
    """What forbids that the rows of a table that is there end, and why."""
    referring = [child.name for child, _ in catalog.foreign_keys_to(table.relation_id)]
    return (
        (table.append_only, "it is APPEND ONLY"),
        (table.watermark is not None, "it has a watermark"),
        (bool(referring), f'a foreign key of table "{next(iter(referring), "")}" refers to it'),
    )


def refuse_reference(table: Table, position: int) -> None:
    """Raises FeatureNotSupported if rows to which a foreign key would refer end by themselves."""
    if table.ends_rows or table.retention is not None:
        message = f'a foreign key to table "{table.name}" is not supported: its rows end by themselves'
        raise FeatureNotSupported(message, position=position)


def _retention(statement: CreateTable, given: OptionText) -> EndOfRows:
    seconds = _seconds(given)
    rules = (
        (not statement.append_only, "it is not APPEND ONLY"),
        (bool(statement.primary_key) or any(c.primary_key for c in statement.columns), "it has a primary key"),
        (statement.watermark is not None and statement.watermark.ttl, "it has a watermark WITH TTL"),
        (statement.copied is not None, "it copies a table of a source"),
    )
    hint = "WITH (ttl = …) deletes rows of tables that change, and views follow."
    _check("retention_seconds", statement.name.name, given, rules, hint)
    return EndOfRows(seconds, is_told=False)


def _ttl(statement: CreateTable, given: OptionText) -> EndOfRows:
    seconds = _seconds_of_ttl(given)
    rules = (
        (statement.append_only, "it is APPEND ONLY"),
        (statement.watermark is not None, "it has a watermark"),
        (statement.retention is not None, "it has retention_seconds"),
        (statement.copied is not None, "it copies a table of a source"),
        (_refers_to_itself(statement), "it has a foreign key to itself"),
    )
    _check("ttl", statement.name.name, given, rules, _OF_TABLES_THAT_GROW)
    return EndOfRows(seconds, is_told=True)


def _check(option: str, table: str, given: OptionText, rules: tuple[tuple[bool, str], ...], hint: str) -> None:
    for holds, reason in rules:
        if holds:
            message = f'{option} of table "{table}" is not supported: {reason}'
            raise FeatureNotSupported(message, position=given.position, hint=hint)


def _refers_to_itself(statement: CreateTable) -> bool:
    keys = (each for each in statement.constraints if isinstance(each, ForeignKeyDefinition))
    return any(key.table.name == statement.name.name for key in keys)


def _seconds(given: OptionText) -> int:
    if not given.text.isdecimal() or not 0 < int(given.text) <= _LONGEST:
        raise _invalid("retention_seconds", given, f"It is a number of seconds from 1 to {_LONGEST}.")
    return int(given.text)


def _seconds_of_ttl(given: OptionText) -> int:
    """The whole seconds of an interval, or of a number of seconds."""
    hint = "It is an interval of a second up to a century, without months: '36 hours', '7 days'."
    if given.text.isdecimal():
        seconds = int(given.text)
    else:
        try:
            value = parse_text(INTERVAL, given.text)
        except SqlError as error:
            raise _invalid("ttl", given, hint) from error
        assert isinstance(value, pa.MonthDayNano)
        if value.months:
            raise _invalid("ttl", given, hint)
        seconds = value.days * _DAY + value.nanoseconds // _SECOND
    if not 0 < seconds <= _LONGEST:
        raise _invalid("ttl", given, hint)
    return seconds


def _invalid(option: str, given: OptionText, hint: str) -> SqlError:
    message = f'invalid value for parameter "{option}": "{given.text}"'
    return SqlError(message, sqlstate="22023", position=given.position, hint=hint)
