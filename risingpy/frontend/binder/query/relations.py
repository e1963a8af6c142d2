"""Relations of the catalog in FROM: found by name, scanned, and called as an alias says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.connectors.registry import is_pushed
from risingpy.errors import FeatureNotSupported, SqlError, UndefinedTable
from risingpy.frontend.binder.plans import ONE_ROW, project, renamed
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.scope.uses import check_database, check_schema
from risingpy.frontend.binder.trees import name_of
from risingpy.plan.catalog import (
    Catalog,
    ExternalSource,
    NumberSequence,
    Relation,
    ScannedRelation,
    Table,
    View,
    is_of_session,
)
from risingpy.plan.expressions import Call, Literal
from risingpy.plan.logical import Field, LogicalPlan, Scan, SystemScan
from risingpy.types import BIGINT, BOOLEAN
from risingpy.types.system_types import REGCLASS


def find_relation(
    context: BindContext, name: str, schema: str | None, position: int | None, database: str | None = None
) -> Relation:
    """The relation of that name. Raises UndefinedTable; one that is still being created is not there yet.

    Raises SqlError (55000) for one that is made anew after a failure.
    """
    catalog = context.catalog
    other = None if database in (None, catalog.database) else catalog.database_named(str(database))
    if other is not None:
        check_database(catalog, context.session.role_id, other)
        catalog = catalog.seen_from(other.database_id)
    own = context.session.temporary_schema
    if schema != own:
        check_schema(catalog, context.session.role_id, schema, position)
    relation = catalog.find(name, schema, context.search_path)
    if relation is not None and is_of_session(relation) and relation.schema_name != own:
        raise FeatureNotSupported("cannot access temporary tables of other sessions", position=position)
    if relation is not None:
        check_has_answer(relation, position)
    without_rows = None if relation is None else _without_rows(catalog, relation)
    if relation is None or without_rows is not None:
        shown = name if schema is None else f"{schema}.{name}"
        shown = shown if other is None else f"{database}.{shown}"
        of_name = "of this name" if without_rows is relation else "that it reads"
        hint = None if without_rows is None else f"The {without_rows.noun} {of_name} does not have its rows yet."
        raise UndefinedTable(f'relation "{shown}" does not exist', position=position, hint=hint)
    if isinstance(relation, ExternalSource) and is_pushed(dict(relation.options)):
        hint = f"CREATE TABLE t (*) FROM {name} TABLE '…' copies a table of it."
        raise FeatureNotSupported(f'source "{name}" has no rows of its own', position=position, hint=hint)
    return relation


def _without_rows(catalog: Catalog, relation: Relation) -> Relation | None:
    """The relation, or one that a plain view reads, if it is still being created; None if all have their rows."""
    if relation.is_being_created or not isinstance(relation, View):
        return relation if relation.is_being_created else None
    read = (catalog.relations.get(relation_id) for relation_id in relation.depends_on)
    found = (_without_rows(catalog, each) for each in read if each is not None)
    return next((each for each in found if each is not None), None)


def check_has_answer(relation: Relation, position: int | None = None) -> None:
    """Raises SqlError (55000) for a relation that has failed, and has no rows because it is to be made anew."""
    if not relation.has_no_answer:
        return
    if relation.has_stopped:
        message = f'{relation.noun} "{relation.name}" has failed again while it was recovered: it has no rows'
        hint = "The server's log has the error. RECOVER it again, or drop it."
    else:
        message = f'{relation.noun} "{relation.name}" is being recovered'
        hint = "SHOW JOBS says how far it is."
    raise SqlError(message, sqlstate="55000", hint=hint, position=position)


def scan(relation: ScannedRelation) -> Scan:
    """All columns of a stored relation, hidden ones too."""
    fields = tuple(Field(c.name, c.type, c.hidden) for c in relation.columns)
    # Of a stored relation only the key never allows NULLs: ALTER TABLE may drop any other NOT NULL.
    not_null = tuple[int, ...]()
    if isinstance(relation, Table):
        not_null = tuple(place for place in sorted(relation.primary_key) if relation.refuses_null(place))
    positions = tuple(range(len(fields)))
    return Scan(
        relation.relation_id,
        relation.qualified_name,
        positions,
        fields,
        relation.version,
        not_null=not_null,
        key=relation.stream_key,
    )


def row_of_sequence(sequence: NumberSequence) -> LogicalPlan:
    """The only row of a sequence: its position, and 0 where PostgreSQL counts the numbers that it has logged ahead."""
    oid = Literal(sequence.relation_id, REGCLASS)
    values = (
        Call("sequence_position", (oid,), BIGINT),
        Literal(0, BIGINT),
        Call("sequence_was_called", (oid,), BOOLEAN),
    )
    return project(ONE_ROW, values, [column.name for column in sequence.columns])


def with_aliases(plan: LogicalPlan, shown: str, alias: exp.TableAlias | None) -> LogicalPlan:
    """The plan, its visible columns called as the alias lists them. `shown` is its own name, for errors."""
    columns = alias.args.get("columns") or [] if alias is not None else []
    visible = [i for i, field in enumerate(plan.schema) if not field.hidden]
    if not columns:
        return plan
    check_alias_count(shown, len(visible), len(columns))
    names = [field.name for field in plan.schema]
    for i, column in zip(visible, columns, strict=False):
        names[i] = name_of(column.this if isinstance(column, exp.ColumnDef) else column)
    return _renamed_scan(plan, names) if isinstance(plan, Scan | SystemScan) else renamed(plan, names)


def check_alias_count(shown: str, available: int, specified: int) -> None:
    """Raises SqlError (42P10) for an alias with more columns than there are."""
    if specified > available:
        message = f'table "{shown}" has {available} columns available but {specified} columns specified'
        raise SqlError(message, sqlstate="42P10")


def _renamed_scan(plan: Scan | SystemScan, names: Sequence[str]) -> Scan | SystemScan:
    return replace(plan, schema=tuple(replace(f, name=n) for f, n in zip(plan.schema, names, strict=True)))
