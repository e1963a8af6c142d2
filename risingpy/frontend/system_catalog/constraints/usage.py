"""information_schema's relations about constraints, in the standard's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.constraints.listed import ListedConstraint, column_names, constraints_of
from risingpy.frontend.system_catalog.objects import domains
from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.frontend.system_catalog.rights.sight import is_owner, sees_column, sees_constraints
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import Table

_KINDS = {"p": "PRIMARY KEY", "u": "UNIQUE", "c": "CHECK", "f": "FOREIGN KEY"}
_RULES = {"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}


def _all(state: SystemState) -> Iterator[ListedConstraint]:
    for found in state.relations:
        if isinstance(found, Table):
            yield from constraints_of(state.catalog, found)


def _head(state: SystemState, each: ListedConstraint) -> tuple[str, str, str]:
    return state.catalog.database, each.table.schema_name, each.name


def _table(state: SystemState, table: Table) -> tuple[str, str, str]:
    return state.catalog.database, table.schema_name, table.name


def _constraints(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        if not sees_constraints(state, each.table):
            continue
        enforced = "NO" if each.key is not None and not each.key.enforced else "YES"
        deferral = ["YES" if holds else "NO" for holds in each.deferral]
        yield *_head(state, each), *_table(state, each.table), _KINDS[each.kind], *deferral, enforced, _nulls(each)
    for found, name, _ in _not_nulls(state):
        if not sees_constraints(state, found):
            continue
        owner = state.catalog.database, found.schema_name
        yield *owner, name, *owner, found.name, "CHECK", "NO", "NO", "YES", None


def _nulls(each: ListedConstraint) -> str | None:
    """nulls_distinct, of a UNIQUE constraint only."""
    return None if each.kind != "u" else "NO" if each.definition.startswith("UNIQUE NULLS ") else "YES"


def _not_nulls(state: SystemState) -> Iterator[tuple[Table, str, str]]:
    """(Table, name, column) of each NOT NULL: the standard calls them checks. Named of oids, as in PostgreSQL."""
    for found in state.relations:
        if isinstance(found, Table):
            schema = schema_oid(found.schema_name)
            for number, column in enumerate(found.columns, 1):
                if found.refuses_null(number - 1) and not column.hidden:
                    yield found, f"{schema}_{found.relation_id}_{number}_not_null", column.name


def _key_columns(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        if each.kind == "c":
            continue
        places = _places_in_key(state, each)
        named = {column.name: column for column in each.table.columns}
        for number, name in enumerate(column_names(each.table, each.numbers)):
            if name not in named or not sees_column(state, each.table, named[name]):
                continue
            yield *_head(state, each), *_table(state, each.table), name, number + 1, places[number]


def _places_in_key(state: SystemState, each: ListedConstraint) -> list[int | None]:
    """For each column of a foreign key, which column of the unique key it refers to, from 1."""
    if each.key is None or each.target is None:
        return [None] * len(each.numbers)
    unique = _referred(state, each)
    order = list(unique.numbers) if unique is not None else list(each.target_numbers)
    return [order.index(number) + 1 if number in order else None for number in each.target_numbers]


def _referred(state: SystemState, each: ListedConstraint) -> ListedConstraint | None:
    """The unique or primary key to which a foreign key refers; None if it is an index of CREATE UNIQUE INDEX."""
    assert each.target is not None
    found = constraints_of(state.catalog, each.target)
    return next((other for other in found if other.index_oid == each.index_oid and other.kind in "pu"), None)


def _references(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        if each.key is None or each.target is None or not sees_constraints(state, each.table):
            continue
        unique = _referred(state, each)
        other = (None, None, None) if unique is None else _head(state, unique)
        match = "FULL" if each.key.matches_full else "NONE"
        rules = _RULES[each.key.on_update.value], _RULES[each.key.on_delete.value]
        yield *_head(state, each), *other, match, *rules


def _checks(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        if each.kind == "c" and is_owner(state, each.table):
            text = each.definition.removesuffix(" NOT VALID").removeprefix("CHECK (").removesuffix(")")
            yield *_head(state, each), text
    for found, name, column in _not_nulls(state):
        if is_owner(state, found):
            yield state.catalog.database, found.schema_name, name, f"{column} IS NOT NULL"
    yield from domains.check_clauses(state)


def _columns_used(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        table, numbers = (each.target, each.target_numbers) if each.target is not None else (each.table, each.numbers)
        for name in column_names(table, numbers) if is_owner(state, table) else ():
            yield *_table(state, table), name, *_head(state, each)


def _tables_used(state: SystemState) -> Iterable[Row]:
    for each in _all(state):
        if each.kind != "c" and is_owner(state, each.target or each.table):
            yield *_table(state, each.target or each.table), *_head(state, each)


_CONSTRAINT_NAME = "constraint_catalog name, constraint_schema name, constraint_name name"
_TABLE_NAME = "table_catalog name, table_schema name, table_name name"
TABLE_CONSTRAINTS = relation(
    "information_schema",
    "table_constraints",
    f"{_CONSTRAINT_NAME}, {_TABLE_NAME},"
    "constraint_type text, is_deferrable text, initially_deferred text, enforced text, nulls_distinct text",
    _constraints,
)
KEY_COLUMN_USAGE = relation(
    "information_schema",
    "key_column_usage",
    f"{_CONSTRAINT_NAME}, {_TABLE_NAME}, column_name name, ordinal_position int4, position_in_unique_constraint int4",
    _key_columns,
)
REFERENTIAL_CONSTRAINTS = relation(
    "information_schema",
    "referential_constraints",
    f"{_CONSTRAINT_NAME}, unique_constraint_catalog name, unique_constraint_schema name, unique_constraint_name name,"
    "match_option text, update_rule text, delete_rule text",
    _references,
)
CHECK_CONSTRAINTS = relation(
    "information_schema", "check_constraints", f"{_CONSTRAINT_NAME}, check_clause text", _checks
)
CONSTRAINT_COLUMN_USAGE = relation(
    "information_schema",
    "constraint_column_usage",
    f"{_TABLE_NAME}, column_name name, {_CONSTRAINT_NAME}",
    _columns_used,
)
CONSTRAINT_TABLE_USAGE = relation(
    "information_schema", "constraint_table_usage", f"{_TABLE_NAME}, {_CONSTRAINT_NAME}", _tables_used
)
