"""CREATE INDEX … USING hnsw: an index that finds the vectors nearest to one. Limits and errors are pgvector's."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import DatatypeMismatch, FeatureNotSupported, InvalidParameterValue, SqlError, UndefinedObject
from risingpy.frontend.parser.ast import CreateIndex
from risingpy.plan.catalog import IndexDefinition, IndexedRelation, IndexKey, NearestRule
from risingpy.plan.expressions import InputRef
from risingpy.plan.operator_classes import DISTANCE_OF_CLASS
from risingpy.types import TypeKind

_LIMITS = {"m": (2, 100), "ef_construction": (4, 1000)}


def bind_nearest(statement: CreateIndex, relation: IndexedRelation, keys: Sequence[IndexKey]) -> IndexDefinition:
    """Raises SqlError for what is no column of vectors of one length, and for options that the index does not have."""
    if len(keys) != 1:
        message = 'access method "hnsw" does not support multicolumn indexes'
        raise FeatureNotSupported(message, position=statement.keys[1].expression.position)
    (element,), (key,) = statement.keys, keys
    position = element.expression.position
    if not isinstance(key.expression, InputRef):
        raise FeatureNotSupported("an index USING hnsw on an expression is not supported", position=position)
    column = next(each for each in relation.columns if each.column_id == key.expression.index)
    if column.type.kind is not TypeKind.VECTOR:
        message = f'access method "hnsw" does not accept data type {column.type.name}'
        raise DatatypeMismatch(message, position=position, hint="It finds near values of type vector.")
    if element.operator_class is None:
        raise UndefinedObject(
            'data type vector has no default operator class for access method "hnsw"',
            position=position,
            hint=f"You must specify an operator class for the index: {', '.join(DISTANCE_OF_CLASS)}.",
        )
    distance = DISTANCE_OF_CLASS.get(element.operator_class)
    if distance is None:
        message = f'operator class "{element.operator_class}" does not exist for access method "hnsw"'
        raise UndefinedObject(message, position=position, hint=f"There are {', '.join(DISTANCE_OF_CLASS)}.")
    if column.type.length is None:
        hint = "Declare the column as vector(n)."
        raise InvalidParameterValue("column does not have dimensions", position=position, hint=hint)
    rule = NearestRule(distance, *_options(statement))
    included = (key.expression.index,)
    return IndexDefinition(relation.relation_id, tuple(keys), included, nearest=rule)


def _options(statement: CreateIndex) -> tuple[int, int]:
    """m and ef_construction."""
    usual = NearestRule("")
    values = {"m": usual.connectivity, "ef_construction": usual.construction}
    for name, text in statement.options or ():
        if name not in _LIMITS:
            raise InvalidParameterValue(f'unrecognized parameter "{name}"', position=statement.table.position)
        low, high = _LIMITS[name]
        if not text.isdigit() or not low <= int(text) <= high:
            detail = f'Valid values are between "{low}" and "{high}".'
            raise InvalidParameterValue(f'value {text} out of bounds for option "{name}"', detail=detail)
        values[name] = int(text)
    if values["ef_construction"] < 2 * values["m"]:
        raise SqlError("ef_construction must be greater than or equal to 2 * m", sqlstate="22023")
    return values["m"], values["ef_construction"]
