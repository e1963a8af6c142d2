"""CREATE TYPE, ALTER TYPE and DROP TYPE, after these words."""

from __future__ import annotations

from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.trees import AlterObjectOwner
from risingpy.frontend.parser.user_types.composites import (
    begins_attribute_action,
    parse_attribute_actions,
    parse_attributes,
)
from risingpy.frontend.parser.user_types.trees import (
    AlterAttributes,
    AlterTypeAddValue,
    AlterTypePlace,
    AlterTypeRenameValue,
    CreateCompositeType,
    CreateType,
    DropType,
    LabelText,
)


def parse_create_type(cursor: Cursor) -> CreateType | CreateCompositeType:
    """`name AS ENUM ('label', …)`, `name AS (…)`. Raises FeatureNotSupported (0A000) for PostgreSQL's other forms."""
    name = cursor.object_name()
    if cursor.peek(2) == ["AS", "("]:
        cursor.expect("AS")
        return parse_attributes(cursor, name)
    if not cursor.accept("AS", "ENUM"):
        _refuse_other_forms(cursor)
    cursor.expect("(")
    if cursor.accept(")"):
        return CreateType(name, ())
    labels = cursor.comma_separated(lambda: _label(cursor))
    cursor.expect(")")
    return CreateType(name, labels)


def _refuse_other_forms(cursor: Cursor) -> None:
    words = cursor.peek(2)
    if words == ["AS", "RANGE"]:
        cursor.unsupported("CREATE TYPE … AS RANGE")
    if not words or words[0] == "(":
        cursor.unsupported("CREATE TYPE without AS")
    cursor.fail()


def parse_alter_type(
    cursor: Cursor,
) -> AlterTypeAddValue | AlterTypeRenameValue | AlterTypePlace | AlterObjectOwner | AlterAttributes:
    """`name` and one action, or several on attributes."""
    name = cursor.object_name()
    if begins_attribute_action(cursor):
        return parse_attribute_actions(cursor, name)
    if cursor.accept("ADD", "VALUE"):
        if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
        label = _label(cursor)
        before = cursor.word == "BEFORE"
        neighbour = _label(cursor) if cursor.accept("BEFORE") or cursor.accept("AFTER") else None
        return AlterTypeAddValue(name, label, if_not_exists, before, neighbour)
    if cursor.accept("RENAME", "VALUE"):
        old = _label(cursor)
        cursor.expect("TO")
        return AlterTypeRenameValue(name, old, _label(cursor))
    if cursor.accept("RENAME", "TO"):
        return AlterTypePlace(name, new_name=cursor.name())
    if cursor.accept("SET", "SCHEMA"):
        return AlterTypePlace(name, new_schema=cursor.name())
    if cursor.accept("OWNER", "TO"):
        return AlterObjectOwner("TYPE", name, None, role_name(cursor))
    if cursor.word in ("ADD", "DROP", "ALTER", "RENAME", "SET"):
        cursor.unsupported(f"ALTER TYPE … {' '.join(cursor.peek(2))}")
    return cursor.fail()


def parse_drop_type(cursor: Cursor, kind: str) -> DropType:
    """`[IF EXISTS] name, … [CASCADE | RESTRICT]`; `kind` is TYPE or DOMAIN."""
    if_exists = cursor.accept("IF", "EXISTS")
    names = cursor.comma_separated(cursor.type_name)
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropType(kind, names, if_exists, cascade)


def _label(cursor: Cursor) -> LabelText:
    position = cursor.position
    return LabelText(cursor.string(), position)
