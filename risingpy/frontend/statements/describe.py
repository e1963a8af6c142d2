"""DESCRIBE relation, and SHOW COLUMNS FROM relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from risingpy.errors import UndefinedTable
from risingpy.frontend.binder.scope.uses import check_database, check_schema
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Describe, ObjectName, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.text_table import text_fields, text_rows
from risingpy.plan.catalog import JobRelation, Relation, StoredRelation
from risingpy.types import SqlType

_COLUMNS = ("Name", "Type", "Is Hidden", "Description")


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Describe, parameter_types: Sequence[SqlType]
) -> Command:
    """A row per column, then rows on the relation itself, as in RisingWave. Binding raises 42P01."""
    relation = named_relation(session, statement.name)
    fields = text_fields(*_COLUMNS)

    def run(parameters: Parameters) -> Result:
        rows = [*_columns(relation), *_properties(relation)]
        return Result(CommandTag("DESCRIBE"), fields, text_rows(fields, rows))

    return Command(run, fields)


def bind_columns(session: StatementContext, name: ObjectName) -> Command:
    """SHOW COLUMNS FROM name."""
    relation = named_relation(session, name)
    fields = text_fields(*_COLUMNS)
    return Command(lambda parameters: Result(CommandTag("SHOW"), fields, text_rows(fields, _columns(relation))), fields)


def named_relation(session: StatementContext, name: ObjectName) -> Relation:
    """The relation, also one of another database, or UndefinedTable.

    Raises InsufficientPrivilege if the session may not name it.
    """
    catalog, role = session.database.reads.catalog, session.identity.current_id
    other = None if name.database in (None, catalog.database) else catalog.database_named(str(name.database))
    if other is not None:
        check_database(catalog, role, other)
        catalog = catalog.seen_from(other.database_id)
    if name.schema != session.temporaries.schema:
        check_schema(catalog, role, name.schema, name.position)
    relation = catalog.find(name.name, name.schema, session.search_path())
    if relation is None:
        shown = name if other is None else f"{other.name}.{name}"
        raise UndefinedTable(f'relation "{shown}" does not exist', position=name.position)
    return relation


def _columns(relation: Relation) -> Iterator[tuple[str | None, ...]]:
    for column in relation.columns:
        yield column.name, str(column.type), str(column.hidden).lower(), None


def _properties(relation: Relation) -> Iterator[tuple[str | None, ...]]:
    if isinstance(relation, StoredRelation):
        key = [relation.columns[key.index].name for key in relation.table.key]
        yield "primary key", ", ".join(key), None, None
        spread = [relation.columns[index].name for index in relation.table.distribution]
        yield "distribution key", ", ".join(spread), None, None
    if isinstance(relation, JobRelation) and relation.watermarks:
        named = [relation.columns[watermark.column].name for watermark in relation.watermarks]
        yield "watermark", ", ".join(named), None, None
    yield "table description", relation.name, None, None
