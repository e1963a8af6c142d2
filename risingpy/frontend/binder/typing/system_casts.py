"""Casts to and from the types of system catalogs.

oid::regclass          the same number
oid::regclass::text    regclass_text(oid): the relation's name
regclass[]::text[]     regclass_texts(oids): the names
text[]::regclass[]     regclass_list_of(texts, …)
text::regclass         regclass_of(text, …): the relation of that name; of a constant the binder knows it already
int2vector::text       vector_text(…): its elements between blanks
"""

from __future__ import annotations

import json
from dataclasses import replace

from risingpy.frontend.system_catalog.names import ObjectNames
from risingpy.functions.topics.object_names import MOST_OID
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal
from risingpy.types import BIGINT, BOOLEAN, VARCHAR, SqlType, TypeKind, struct_of
from risingpy.types.system_types import (
    OID,
    TEXT,
    as_text,
    is_json,
    is_object_identifier,
    is_vector,
    names_objects,
)


def system_cast(expr: Expr, target: SqlType, names: ObjectNames) -> Expr:
    """`expr` as `target`, one of which is a type of system catalogs."""
    source = expr.type
    if target.is_text and is_object_identifier(source):
        shown = Call(f"{source.system}_text", (expr,), TEXT)
        return shown if target.length is None else Cast(shown, target)
    if source.depth == 1 and names_objects(source) and (target.is_text or target.leaf.is_text):
        texts = Call(f"{source.leaf.system}_texts", (expr,), as_text(source))
        return texts if target == texts.type else Cast(texts, target)
    if target.depth == 1 and names_objects(target) and source.leaf.is_text and source.depth == 1:
        return Call(f"{target.leaf.system}_list_of", (expr, *_where(names)), target)
    if target.is_text and is_vector(source):
        return Call("vector_text", (expr,), TEXT)
    if is_object_identifier(target) and source.is_text:
        return Call(f"{target.system}_of", (expr, *_where(names)), target)
    if target == OID and source.is_integer and not source.system:
        return _object_id(expr)
    if target.kind is TypeKind.BIGINT and target.system and source.is_integer and source.kind is not TypeKind.BIGINT:
        return Cast(Cast(expr, BIGINT), target)
    return Cast(expr, target)


def with_names(expr: Expr) -> Expr:
    """The value with texts in the places of regclass and its kind, in its fields, too: what clients see of it."""
    type_ = expr.type
    if not _has_names(type_):
        return expr
    if is_object_identifier(type_):
        return Call(f"{type_.system}_text", (expr,), TEXT)
    if type_.depth == 1 and names_objects(type_):
        return Call(f"{type_.leaf.system}_texts", (expr,), as_text(type_))
    if type_.kind is not TypeKind.STRUCT:
        return expr
    if isinstance(expr, Call) and expr.function == "row":
        fields = tuple(map(with_names, expr.args))
        return Call("row", fields, struct_of(type_.names, [field.type for field in fields]))
    named = zip(type_.names, type_.items, strict=True)
    fields = tuple(with_names(Call("field", (expr, Literal(name, VARCHAR)), each)) for name, each in named)
    row = Call("row", fields, struct_of(type_.names, [field.type for field in fields]))
    return Case(((Call("is_null", (expr,), BOOLEAN), Literal(None, row.type)),), row, row.type)


def _has_names(type_: SqlType) -> bool:
    return is_object_identifier(type_) or any(map(_has_names, type_.items))


def _object_id(expr: Expr) -> Expr:
    """An integer's bits as an oid, so that -1 is 4294967295. A bigint must be an oid, else 22003."""
    if isinstance(expr, Literal) and isinstance(expr.value, int):
        if expr.type.kind is not TypeKind.BIGINT:
            return Literal(expr.value & MOST_OID, OID)
        if 0 <= expr.value <= MOST_OID:
            return Literal(expr.value, OID)
    checked = "bigint_to_oid" if expr.type.kind is TypeKind.BIGINT else "integer_to_oid"
    return Call(checked, (expr,), OID)


def _where(names: ObjectNames) -> tuple[Literal, Literal]:
    """The database and the schemas that a name may have, for the error of one that names nothing."""
    return Literal(names.database, VARCHAR), Literal(json.dumps(names.schemas), VARCHAR)


def parameter_type(target: SqlType) -> SqlType:
    """The type that a parameter gets where a `target` is needed: any text will do for name and "char"."""
    if target.is_text:
        return TEXT if target.system else replace(target, length=None)
    return target if target.length is None else replace(target, length=None)


def held_by(target: SqlType, given: SqlType) -> SqlType:
    """The type of system catalogs that `given` is, if its values are those of `target`; else `target`."""
    if is_json(given):  # a text of the same value, but not the one that jsonb has
        return target
    return given if given.system and not target.system and replace(given, system="") == target else target
