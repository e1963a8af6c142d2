"""CREATE TYPE … AS (…), after AS, and ALTER TYPE … ATTRIBUTE."""

from __future__ import annotations

from risingpy.frontend.parser.ast_parts import ObjectName
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.user_types.trees import (
    AddAttribute,
    AlterAttributes,
    Attribute,
    AttributeAction,
    CreateCompositeType,
    DropAttribute,
    RenameAttribute,
    SetAttributeType,
)


def parse_attributes(cursor: Cursor, name: ObjectName) -> CreateCompositeType:
    """`(name type [COLLATE name], …)`, perhaps without any attribute."""
    cursor.expect("(")
    if cursor.accept(")"):
        return CreateCompositeType(name, ())
    attributes = cursor.comma_separated(lambda: _attribute(cursor))
    cursor.expect(")")
    return CreateCompositeType(name, attributes)


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.name()
    type_name = cursor.type_name()
    return Attribute(name, type_name, cursor.object_name() if cursor.accept("COLLATE") else None)


def begins_attribute_action(cursor: Cursor) -> bool:
    """Whether ADD, DROP, ALTER or RENAME ATTRIBUTE comes next."""
    words = cursor.peek(2)
    return words[:1] in (["ADD"], ["DROP"], ["ALTER"], ["RENAME"]) and words[1:] == ["ATTRIBUTE"]


def parse_attribute_actions(cursor: Cursor, name: ObjectName) -> AlterAttributes:
    """RENAME ATTRIBUTE stands alone, the others may be several."""
    if cursor.accept("RENAME", "ATTRIBUTE"):
        old = cursor.name()
        cursor.expect("TO")
        renamed = RenameAttribute(old, cursor.name())
        _behavior(cursor)
        return AlterAttributes(name, (renamed,))
    return AlterAttributes(name, cursor.comma_separated(lambda: _action(cursor)))


def _action(cursor: Cursor) -> AttributeAction:
    action: AttributeAction
    if cursor.accept("ADD", "ATTRIBUTE"):
        action = AddAttribute(_attribute(cursor))
    elif cursor.accept("DROP", "ATTRIBUTE"):
        if_exists = cursor.accept("IF", "EXISTS")
        action = DropAttribute(cursor.name(), if_exists)
    else:
        cursor.expect("ALTER", "ATTRIBUTE")
        attribute = cursor.name()
        cursor.accept("SET", "DATA")
        cursor.expect("TYPE")
        type_name = cursor.type_name()
        collation = cursor.object_name() if cursor.accept("COLLATE") else None
        action = SetAttributeType(Attribute(attribute, type_name, collation))
    _behavior(cursor)
    return action


def _behavior(cursor: Cursor) -> None:
    """CASCADE and RESTRICT are about typed tables, which there are none of."""
    if not cursor.accept("CASCADE"):
        cursor.accept("RESTRICT")
