"""Constraints of CREATE TABLE and ALTER TABLE, of a column or of the table."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parser.ast_constraints import (
    CheckDefinition,
    ConstraintDefinition,
    ForeignKeyDefinition,
    KeyDefinition,
    UniqueDefinition,
)
from risingpy.frontend.parser.ast_parts import ColumnName, Expression
from risingpy.frontend.parser.cursor import Cursor, without_parentheses
from risingpy.plan.catalog.constraints import ReferentialAction

_TABLE_WORDS = ("PRIMARY KEY", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN KEY", "FOREIGN", "EXCLUDE")


def begins_table_constraint(cursor: Cursor) -> bool:
    """Whether a table's constraint comes next, with or without its name."""
    word = " ".join(cursor.word.split())
    return word == "CONSTRAINT" or word in _TABLE_WORDS


def parse_table_constraint(cursor: Cursor) -> ConstraintDefinition:
    """`begins_table_constraint` holds."""
    position = cursor.position
    name = cursor.name() if cursor.accept("CONSTRAINT") else None
    if cursor.accept("PRIMARY KEY"):
        _refuse_index(cursor)
        return primary_key(cursor, name, cursor.in_parentheses(cursor.name), position)
    if cursor.accept("UNIQUE"):
        distinct = _nulls_distinct(cursor)
        _refuse_index(cursor)
        columns = cursor.in_parentheses(cursor.name)
        if cursor.word == "INCLUDE":
            cursor.unsupported("UNIQUE … INCLUDE")
        said = _attributes(cursor)
        return UniqueDefinition(name, columns, position, distinct, said.can_defer, said.deferred)
    if cursor.accept("CHECK"):
        return _check(cursor, name, position, of_table=True)
    if cursor.accept("FOREIGN KEY"):
        columns = cursor.in_parentheses(cursor.name)
        cursor.expect("REFERENCES")
        return _references(cursor, name, columns, position, of_table=True)
    if cursor.word == "EXCLUDE":
        cursor.unsupported("EXCLUDE constraint")
    return cursor.fail()


def parse_column_constraint(cursor: Cursor, name: ColumnName | None, column: ColumnName) -> ConstraintDefinition | None:
    """PRIMARY KEY, UNIQUE, CHECK or REFERENCES of a column; None if none of these comes next."""
    position = cursor.position
    if cursor.accept("PRIMARY KEY"):
        return primary_key(cursor, name, (column,), position)
    if cursor.accept("UNIQUE"):
        distinct = _nulls_distinct(cursor)
        said = _attributes(cursor)
        return UniqueDefinition(name, (column,), position, distinct, said.can_defer, said.deferred)
    if cursor.accept("CHECK"):
        return _check(cursor, name, position, of_table=False)
    if cursor.accept("REFERENCES"):
        return _references(cursor, name, (column,), position, of_table=False)
    return None


def primary_key(
    cursor: Cursor, name: ColumnName | None, columns: tuple[ColumnName, ...], position: int
) -> KeyDefinition | UniqueDefinition:
    """PRIMARY KEY of these columns, whose attributes come next. One that can be deferred is a unique key."""
    said = _attributes(cursor)
    if not said.can_defer:
        return KeyDefinition(name, columns, position)
    return UniqueDefinition(name, columns, position, deferrable=True, deferred=said.deferred, is_primary=True)


def _check(cursor: Cursor, name: ColumnName | None, position: int, *, of_table: bool) -> CheckDefinition:
    cursor.expect("(")
    expression = cursor.expression()
    cursor.expect(")")
    text = without_parentheses(Expression(expression.tree, expression.text.strip(), expression.position))
    said = _attributes(cursor, of_table=of_table, not_deferrable="CHECK constraint")
    if not said.enforced:
        cursor.unsupported("CHECK … NOT ENFORCED")
    return CheckDefinition(name, text, position, said.not_valid)


def _references(
    cursor: Cursor, name: ColumnName | None, columns: tuple[ColumnName, ...], position: int, *, of_table: bool
) -> ForeignKeyDefinition:
    table = cursor.object_name()
    referenced = cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()
    full = False
    if cursor.accept("MATCH"):
        if cursor.word == "PARTIAL":
            cursor.unsupported("MATCH PARTIAL")
        full = cursor.one_of("FULL", "SIMPLE") == "FULL"
    on_delete = on_update = ReferentialAction.NO_ACTION
    set_columns: tuple[ColumnName, ...] = ()
    while cursor.accept("ON"):
        if cursor.one_of("DELETE", "UPDATE") == "DELETE":
            on_delete = _action(cursor)
            sets = on_delete in (ReferentialAction.SET_NULL, ReferentialAction.SET_DEFAULT)
            set_columns = cursor.in_parentheses(cursor.name) if sets and cursor.word == "(" else ()
        else:
            on_update = _action(cursor)
    said = _attributes(cursor, of_table=of_table)
    return ForeignKeyDefinition(
        *(name, columns, table, referenced, position, on_delete, on_update, set_columns, full),
        *(said.not_valid, said.enforced, said.can_defer, said.deferred),
    )


def _action(cursor: Cursor) -> ReferentialAction:
    if cursor.accept("NO", "ACTION"):
        return ReferentialAction.NO_ACTION
    if cursor.accept("RESTRICT"):
        return ReferentialAction.RESTRICT
    if cursor.accept("CASCADE"):
        return ReferentialAction.CASCADE
    cursor.expect("SET")
    return ReferentialAction.SET_NULL if cursor.one_of("NULL", "DEFAULT") == "NULL" else ReferentialAction.SET_DEFAULT


def _nulls_distinct(cursor: Cursor) -> bool:
    if not cursor.accept("NULLS"):
        return True
    distinct = not cursor.accept("NOT")
    cursor.expect("DISTINCT")
    return distinct


def _refuse_index(cursor: Cursor) -> None:
    if cursor.word == "USING":
        cursor.unsupported("a constraint USING INDEX")


@dataclass(slots=True)
class _ConstraintAttributes:
    """What may follow a constraint, in any order."""

    not_valid: bool = False
    enforced: bool = True
    deferrable: bool | None = None
    deferred: bool = False

    @property
    def can_defer(self) -> bool:
        """Whether it is DEFERRABLE, as INITIALLY DEFERRED alone says too."""
        return self.deferred if self.deferrable is None else self.deferrable


def _attributes(cursor: Cursor, *, of_table: bool = False, not_deferrable: str | None = None) -> _ConstraintAttributes:
    """Raises FeatureNotSupported for DEFERRABLE if the constraint is of a kind that is `not_deferrable`."""
    found = _ConstraintAttributes()
    while not cursor.at_end:
        position = cursor.position
        if not_deferrable and (cursor.word == "DEFERRABLE" or cursor.peek(2) == ["INITIALLY", "DEFERRED"]):
            cursor.unsupported(f"a DEFERRABLE {not_deferrable}")
        if cursor.accept("NOT", "DEFERRABLE"):
            found.deferrable = False
        elif cursor.accept("DEFERRABLE"):
            found.deferrable = True
        elif cursor.accept("INITIALLY", "DEFERRED"):
            found.deferred = True
        elif cursor.accept("INITIALLY", "IMMEDIATE"):
            found.deferred = False
        elif cursor.accept("NOT", "ENFORCED"):
            found.enforced = False
        elif of_table and cursor.accept("NOT", "VALID"):
            found.not_valid = True
        elif not (cursor.accept("NO", "INHERIT") or cursor.accept("ENFORCED")):
            break
        if found.deferred and found.deferrable is False:
            cursor.fail_with("constraint declared INITIALLY DEFERRED must be DEFERRABLE", position)
    return found
