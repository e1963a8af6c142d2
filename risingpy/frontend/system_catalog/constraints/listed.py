"""All constraints of a table, each as one record: what pg_constraint and information_schema print."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from risingpy.frontend.system_catalog.index_text import index_key_numbers
from risingpy.frontend.system_catalog.oids import constraint_oid, index_oid, relation_oid
from risingpy.frontend.table_definition import table_definition
from risingpy.functions.topics.object_names import quote_name
from risingpy.plan.catalog import (
    DEFAULT_SCHEMA,
    Catalog,
    CheckConstraint,
    CreatedRelation,
    Deferrable,
    ForeignKey,
    Index,
    Table,
)
from risingpy.plan.catalog.constraints import ReferentialAction

_ACTIONS = {
    ReferentialAction.RESTRICT: "RESTRICT",
    ReferentialAction.CASCADE: "CASCADE",
    ReferentialAction.SET_NULL: "SET NULL",
    ReferentialAction.SET_DEFAULT: "SET DEFAULT",
}


@dataclass(frozen=True, slots=True)
class ListedConstraint:
    """`kind` is pg_constraint.contype, `numbers` are the columns' numbers from 1, `definition` is as in CREATE TABLE.

    Of a foreign key `key` is the key itself, `target` what it refers to, and `target_numbers` that table's columns.
    `unique` is the index of a UNIQUE constraint, or of a DEFERRABLE PRIMARY KEY.
    """

    oid: int
    name: str
    kind: str
    table: Table
    numbers: tuple[int, ...]
    definition: str
    index_oid: int = 0
    validated: bool = True
    key: ForeignKey | None = None
    target: Table | None = None
    target_numbers: tuple[int, ...] = ()
    unique: Index | None = None

    @property
    def deferrable(self) -> Deferrable | None:
        """What SET CONSTRAINTS may put off; None if the constraint is of another kind."""
        return self.key or self.unique

    @property
    def deferral(self) -> tuple[bool, bool]:
        """Whether it is deferrable, and whether it is deferred from the beginning."""
        found = self.deferrable
        return (False, False) if found is None else (found.deferrable, found.deferred)

    @property
    def clause(self) -> str:
        """As a table's constraint in CREATE TABLE."""
        return f"CONSTRAINT {quote_name(self.name)} {self.definition}"


def constraints_of(
    catalog: Catalog,
    table: Table,
    search_path: tuple[str, ...] | None = None,
    check_text: Callable[[Table, CheckConstraint], str] = lambda table, check: f"({check.text})",
) -> Iterable[ListedConstraint]:
    """The table's primary key, then its unique keys, checks and foreign keys.

    A table to which a key refers has its schema in front if `search_path` does not find it, as in PostgreSQL: pg_dump
    asks with an empty one. Without a path the text is for the schema of the table, and the default one after it.
    `check_text` gives what stands in the parentheses of CHECK.
    """
    path = (table.schema_name, DEFAULT_SCHEMA) if search_path is None else search_path
    if table.primary_key:
        numbers = tuple(place + 1 for place in table.primary_key)
        text = f"PRIMARY KEY ({_names(table, numbers)})"
        oid = constraint_oid(table)
        yield ListedConstraint(oid, table.key_constraint, "p", table, numbers, text, index_oid(table))
    for index in catalog.unique_indexes_of(table.relation_id):
        if index.index.unique is not None and index.index.unique.is_constraint:
            yield _unique(index, table)
    for each in table.constraints:
        if isinstance(each, CheckConstraint):
            numbers = tuple(sorted(_number(table, column_id) for column_id in each.column_ids))
            text = f"CHECK ({check_text(table, each)}){'' if each.validated else ' NOT VALID'}"
            valid = each.validated
            yield ListedConstraint(each.constraint_id, each.name, "c", table, numbers, text, validated=valid)
        else:
            yield _foreign_key(catalog, table, each, path)


def shown_definition(catalog: Catalog, relation: CreatedRelation) -> str:
    """The CREATE statement of a relation; that of a table has the constraints, and the key's name, that it has now."""
    if not isinstance(relation, Table) or relation.upstream is not None:  # a copy's columns and key are its upstream's
        return relation.definition
    clauses = [each.clause for each in constraints_of(catalog, relation) if each.kind != "p" or each.unique]
    # The text of the statement would have a sequence's name of then, and none for a key that a rename left as it was.
    names_sequences = any(column.sequences for column in relation.columns)
    if not clauses and not names_sequences and relation.key_name is None:
        return relation.definition
    return table_definition(relation, clauses, catalog.relations)


def column_names(table: Table, numbers: Iterable[int]) -> list[str]:
    """The names of the columns with these numbers."""
    return [table.columns[number - 1].name for number in numbers]


def _unique(index: Index, table: Table) -> ListedConstraint:
    rule = index.index.unique
    assert rule is not None
    numbers = tuple(index_key_numbers(index, table))
    nulls = "" if rule.nulls_distinct else " NULLS NOT DISTINCT"
    kind = "PRIMARY KEY" if rule.is_primary else f"UNIQUE{nulls}"
    text = f"{kind} ({_names(table, numbers)}){_deferral(index)}"
    oid = constraint_oid(index)
    return ListedConstraint(oid, index.name, kind[0].lower(), table, numbers, text, relation_oid(index), unique=index)


def _foreign_key(catalog: Catalog, table: Table, key: ForeignKey, search_path: tuple[str, ...]) -> ListedConstraint:
    target = catalog.relations[key.table_id]
    assert isinstance(target, Table)
    numbers = tuple(_number(table, column_id) for column_id in key.columns)
    theirs = tuple(_number(target, column_id) for column_id in key.referenced)
    is_found = catalog.find(target.name, None, search_path) is target
    schema = "" if is_found else f"{quote_name(target.schema_name)}."
    text = f"FOREIGN KEY ({_names(table, numbers)}) REFERENCES {schema}{quote_name(target.name)}"
    text += f"({_names(target, theirs)})"
    text += " MATCH FULL" if key.matches_full else ""
    text += f" ON UPDATE {_ACTIONS[key.on_update]}" if key.on_update in _ACTIONS else ""
    if key.on_delete in _ACTIONS:
        set_columns = [_number(table, column_id) for column_id in key.set_columns]
        text += f" ON DELETE {_ACTIONS[key.on_delete]}" + (f" ({_names(table, set_columns)})" if set_columns else "")
    text += _deferral(key)
    text += "" if key.enforced else " NOT ENFORCED"
    text += " NOT VALID" if key.enforced and not key.validated else ""
    needed = index_oid(target) if key.index_id is None else key.index_id
    return ListedConstraint(
        *(key.constraint_id, key.name, "f", table, numbers, text, needed, key.validated, key, target, theirs)
    )


def _deferral(constraint: Deferrable) -> str:
    return (" DEFERRABLE" if constraint.deferrable else "") + (" INITIALLY DEFERRED" if constraint.deferred else "")


def _names(table: Table, numbers: Iterable[int]) -> str:
    return ", ".join(map(quote_name, column_names(table, numbers)))


def _number(table: Table, column_id: int) -> int:
    return next(number for number, column in enumerate(table.columns, 1) if column.column_id == column_id)
