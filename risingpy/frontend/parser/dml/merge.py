"""MERGE INTO … USING … ON … WHEN …."""

from __future__ import annotations

from risingpy.frontend.parser.ast import Expression, Merge, MergeDelete, MergeInsert, MergeUpdate, MergeWhen
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.dialect import COMMA_JOIN
from risingpy.frontend.parser.dml.rows import parse_alias, parse_assignments, parse_overriding, parse_value


def parse_merge(cursor: Cursor) -> Merge:
    """Raises SyntaxError_ for an action that its WHEN does not allow."""
    cursor.expect("MERGE", "INTO")
    cursor.accept("ONLY")
    table = cursor.object_name()
    alias = parse_alias(cursor, "USING")
    cursor.expect("USING")
    position = cursor.position
    source = cursor.table_items()
    if any(join.meta.get(COMMA_JOIN) for join in source.joins):
        cursor.fail_with("USING of MERGE takes one item", position)
    cursor.expect("ON")
    condition = cursor.expression()
    clauses = [_parse_when(cursor)]
    while cursor.word == "WHEN":
        clauses.append(_parse_when(cursor))
    return Merge(table, alias, source, condition, tuple(clauses))


def _parse_when(cursor: Cursor) -> MergeWhen:
    position = cursor.position
    cursor.expect("WHEN")
    matched = not cursor.accept("NOT")
    cursor.expect("MATCHED")
    condition: Expression | None = cursor.expression() if cursor.accept("AND") else None
    cursor.expect("THEN")
    if cursor.accept("DO", "NOTHING"):
        return MergeWhen(position, matched, condition, None)
    if not matched:
        return MergeWhen(position, matched, condition, _parse_insert(cursor))
    if cursor.accept("DELETE"):
        return MergeWhen(position, matched, condition, MergeDelete())
    cursor.expect("UPDATE", "SET")
    return MergeWhen(position, matched, condition, MergeUpdate(parse_assignments(cursor)))


def _parse_insert(cursor: Cursor) -> MergeInsert:
    cursor.expect("INSERT")
    columns = cursor.in_parentheses(cursor.target_column) if cursor.word == "(" else None
    overriding = parse_overriding(cursor)
    if cursor.accept("DEFAULT", "VALUES"):
        return MergeInsert(columns, None, overriding)
    cursor.expect("VALUES")
    position = cursor.position
    values = cursor.in_parentheses(lambda: parse_value(cursor))
    return MergeInsert(columns, values, overriding, position)
