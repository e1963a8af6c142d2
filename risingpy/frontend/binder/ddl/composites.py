"""CREATE TYPE … AS (…) and ALTER TYPE … ATTRIBUTE: the attributes of a row's type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import DuplicateColumn, SqlError, UndefinedColumn
from risingpy.frontend.binder.column_limits import check_relation
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.collations import check_collation
from risingpy.frontend.binder.typing.domain_names import refuse_domain
from risingpy.frontend.binder.typing.type_names import is_text_name, resolve_type
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.user_types.trees import (
    AddAttribute,
    AlterAttributes,
    Attribute,
    CreateCompositeType,
    DropAttribute,
    RenameAttribute,
    SetAttributeType,
)
from risingpy.plan.catalog import Catalog, CompositeDesc
from risingpy.types import SqlType
from risingpy.types.system_types import is_of_system


def bind_composite(
    statement: CreateCompositeType, schema_name: str, catalog: Catalog, search_path: Sequence[str]
) -> CompositeDesc:
    """The type in its schema, without ids. Raises DuplicateColumn, and SqlError for a type that no row has."""
    context = make_context(catalog.only_types(), search_path, ())
    check_relation(len(statement.attributes), statement.name.position)
    found = CompositeDesc(0, 0, 0, schema_name, statement.name.name, (), (), ())
    for attribute in statement.attributes:
        found = _with_attribute(context, found, attribute)
    return found


def altered_attributes(
    found: CompositeDesc, statement: AlterAttributes, catalog: Catalog, search_path: Sequence[str]
) -> tuple[CompositeDesc, tuple[str, ...]]:
    """(The type after the actions, notices)."""
    context, notices = make_context(catalog.only_types(), search_path, ()), list[str]()
    for action in statement.actions:
        match action:
            case AddAttribute():
                found = _with_attribute(context, found, action.attribute)
            case DropAttribute():
                if action.name.name not in found.names and action.if_exists:
                    notices.append(f'column "{action.name.name}" of relation "{found.name}" does not exist, skipping')
                    continue
                found = _replaced(found, _place(found, action.name))
            case SetAttributeType():
                place = _place(found, action.attribute.name)
                found = _replaced(found, place, (found.names[place], *_type(context, found, action.attribute)))
            case RenameAttribute():
                place = _place(found, action.name)
                _check_new(found, action.new_name)
                found = _replaced(found, place, (action.new_name.name, found.items[place], found.texts[place]))
    return found, tuple(notices)


def _with_attribute(context: BindContext, found: CompositeDesc, attribute: Attribute) -> CompositeDesc:
    if attribute.name.name in found.names and not found.type_id:
        message = f'column "{attribute.name.name}" specified more than once'
        raise DuplicateColumn(message, position=attribute.name.position)
    _check_new(found, attribute.name)
    return _replaced(found, len(found.names), (attribute.name.name, *_type(context, found, attribute)))


def _check_new(found: CompositeDesc, name: ColumnName) -> None:
    if name.name in found.names:
        message = f'column "{name.name}" of relation "{found.name}" already exists'
        raise DuplicateColumn(message, position=name.position)


def _type(context: BindContext, found: CompositeDesc, attribute: Attribute) -> tuple[SqlType, bool]:
    """(The type of an attribute, whether it was written `text`)."""
    text, position = attribute.type.text, attribute.type.position
    refuse_domain(text, position, context.types, "an attribute")
    type_ = resolve_type(text, position, context.types)
    if is_of_system(type_):
        message = f'column "{attribute.name.name}" has pseudo-type {type_.name}'
        raise SqlError(message, sqlstate="42P16", position=position)
    if found.type_id and _has(type_, found.type_id):
        message = f"composite type {found.name} cannot be made a member of itself"
        raise SqlError(message, sqlstate="42P16", position=position)
    if attribute.collation is not None:
        check_collation(attribute.collation.name, type_, attribute.collation.position)
    return type_, is_text_name(text)


def _has(type_: SqlType, oid: int) -> bool:
    is_it = type_.composite is not None and type_.composite.oid == oid
    return is_it or any(_has(item, oid) for item in type_.items)


def _replaced(found: CompositeDesc, place: int, part: tuple[str, SqlType, bool] | None = None) -> CompositeDesc:
    """The type with this attribute (None: none) in the place of the one that it has there."""
    parts = list(zip(found.names, found.items, found.texts, strict=True))
    parts[place : place + 1] = [] if part is None else [part]
    names, items, texts = zip(*parts, strict=True) if parts else ((), (), ())
    return replace(found, names=tuple(names), items=tuple(items), texts=tuple(texts))


def _place(found: CompositeDesc, name: ColumnName) -> int:
    if name.name not in found.names:
        message = f'column "{name.name}" of relation "{found.name}" does not exist'
        raise UndefinedColumn(message, position=name.position)
    return found.names.index(name.name)
