"""PREPARE, EXECUTE, DEALLOCATE."""

from __future__ import annotations

from risingpy.frontend.parser.ast import Deallocate, Execute, Prepare
from risingpy.frontend.parser.cursor import Cursor

_PREPARABLE = ("SELECT", "VALUES", "WITH", "TABLE", "(", "INSERT", "UPDATE", "DELETE", "MERGE")


def parse_prepare(cursor: Cursor) -> Prepare:
    """The inner statement stays unread. A syntax error, unless it can be prepared: queries, DML and their like."""
    cursor.expect("PREPARE")
    if cursor.accept("TRANSACTION"):
        cursor.unsupported("two-phase commit")
    name = cursor.name().name
    types = cursor.in_parentheses(cursor.type_name) if cursor.word == "(" else ()
    cursor.expect("AS")
    if cursor.word not in _PREPARABLE:
        cursor.fail()
    return Prepare(name, types, cursor.rest())


def parse_execute(cursor: Cursor) -> Execute:
    """The arguments are expressions without columns; there are none if the parentheses are missing."""
    cursor.expect("EXECUTE")
    name = cursor.name().name
    return Execute(name, cursor.in_parentheses(cursor.expression) if cursor.word == "(" else ())


def parse_deallocate(cursor: Cursor) -> Deallocate:
    """The name, or None for ALL."""
    cursor.expect("DEALLOCATE")
    cursor.accept("PREPARE")
    return Deallocate(None if cursor.accept("ALL") else cursor.name().name)
