"""COMMENT ON."""

from __future__ import annotations

from risingpy.frontend.parser.ast import CommentOn, ObjectName
from risingpy.frontend.parser.creation.function import parse_arguments
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.roles.names import role_name

_RELATIONS = ("TABLE", "MATERIALIZED VIEW", "VIEW", "INDEX", "SEQUENCE", "SOURCE", "SINK", "SUBSCRIPTION")
_ROUTINES = ("FUNCTION", "AGGREGATE", "PROCEDURE", "ROUTINE")


def parse_comment(cursor: Cursor) -> CommentOn:
    """COMMENT ON kind name IS 'text'. Raises FeatureNotSupported (0A000) for kinds that do not exist here."""
    cursor.expect("COMMENT", "ON")
    for kind in _RELATIONS:
        if cursor.accept(*kind.split()):
            return CommentOn(kind, cursor.object_name(), _text(cursor))
    for kind in _ROUTINES:
        if cursor.accept(kind):
            name = cursor.object_name()
            arguments = parse_arguments(cursor) if cursor.word == "(" else None
            return CommentOn(kind, name, _text(cursor), arguments=arguments)
    if cursor.accept("COLUMN"):
        return _on_column(cursor)
    if cursor.accept("CONSTRAINT"):
        constraint = cursor.name()
        cursor.expect("ON")
        if cursor.accept("DOMAIN"):
            return CommentOn("CONSTRAINT ON DOMAIN", cursor.object_name(), _text(cursor), part=constraint)
        return CommentOn("CONSTRAINT", cursor.object_name(), _text(cursor), part=constraint)
    if cursor.word in ("SCHEMA", "DATABASE"):
        kind = cursor.one_of("SCHEMA", "DATABASE")
        found = cursor.name()
        return CommentOn(kind, ObjectName(found.name, None, found.position), _text(cursor))
    for kind in ("TYPE", "DOMAIN"):
        if cursor.accept(kind):
            return CommentOn(kind, cursor.object_name(), _text(cursor))
    if cursor.accept("ROLE"):
        role = role_name(cursor)
        name = ObjectName(role.name, None, role.position)
        return CommentOn("ROLE", name, _text(cursor), role=role)
    return cursor.unsupported(f"COMMENT ON {cursor.word}")


def _on_column(cursor: Cursor) -> CommentOn:
    """`relation.column`, `schema.relation.column`, and so on: the last name is the column's."""
    names = [cursor.name()]
    while cursor.accept("."):
        names.append(cursor.name())
    if not 2 <= len(names) <= 4:
        cursor.fail_with("column name must be qualified", names[0].position)
    *of_relation, column = names
    database, schema, relation = [None, None, *of_relation][-3:]
    assert relation is not None
    name = ObjectName(
        *(relation.name, None if schema is None else schema.name, names[0].position),
        None if database is None else database.name,
    )
    return CommentOn("COLUMN", name, _text(cursor), part=column)


def _text(cursor: Cursor) -> str | None:
    cursor.expect("IS")
    return None if cursor.accept("NULL") else cursor.string()
