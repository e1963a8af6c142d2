"""Parameters of system queries: their types.

What the client declared; else the cast around the parameter; else the column that it is compared with, of which
`= ANY ($1)` takes an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from risingpy.errors import UndefinedObject
from risingpy.frontend.catalog.column_types import COLUMN_TYPES, type_of
from risingpy.frontend.catalog.patterns import is_quantified
from risingpy.frontend.catalog.pg_type import TYPES
from risingpy.frontend.catalog.system_relation import SystemType
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, SMALLINT, VARCHAR, SqlType


@dataclass(frozen=True, slots=True)
class ParameterType:
    """`type` decides the Python value; `oid` is what the client hears; `duckdb` the type to cast to."""

    type: SqlType
    oid: int
    duckdb: str


_TEXT = ParameterType(VARCHAR, 25, "VARCHAR")
_OID = ParameterType(BIGINT, 26, "UINTEGER")
_BY_NAME = {
    "bool": ParameterType(BOOLEAN, 0, "BOOLEAN"),
    "boolean": ParameterType(BOOLEAN, 0, "BOOLEAN"),
    "int2": ParameterType(SMALLINT, 0, "SMALLINT"),
    "smallint": ParameterType(SMALLINT, 0, "SMALLINT"),
    "int4": ParameterType(INTEGER, 0, "INTEGER"),
    "int": ParameterType(INTEGER, 0, "INTEGER"),
    "integer": ParameterType(INTEGER, 0, "INTEGER"),
    "int8": ParameterType(BIGINT, 0, "BIGINT"),
    "bigint": ParameterType(BIGINT, 0, "BIGINT"),
    "float8": ParameterType(DOUBLE, 0, "DOUBLE"),
    "double precision": ParameterType(DOUBLE, 0, "DOUBLE"),
    "oid": _OID,
    "_oid": ParameterType(VARCHAR, 1028, "UINTEGER[]"),
    "_text": ParameterType(VARCHAR, 1009, "VARCHAR[]"),
    "_name": ParameterType(VARCHAR, 1009, "VARCHAR[]"),
    "_int4": ParameterType(VARCHAR, 1007, "INTEGER[]"),
    "_int2": ParameterType(VARCHAR, 1005, "SMALLINT[]"),
    "_int8": ParameterType(VARCHAR, 1016, "BIGINT[]"),
}
_NAMES = {entry.oid: entry.name for entry in TYPES}
_UNKNOWN_OID = 705
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.In)
_NAME_OF_NUMBER = {SystemType.REGPROC: "oid"} | {
    kind: kind.value[0] for kind in (SystemType.OID, SystemType.INT2, SystemType.INT4, SystemType.INT8, SystemType.BOOL)
}


def parameter_type(node: exp.Parameter, declared: Sequence[int]) -> ParameterType:
    """The type of one parameter, text if nothing tells it."""
    index = int(node.name) - 1
    oid = declared[index] if index < len(declared) else 0
    if oid and oid != _UNKNOWN_OID:
        if oid not in _NAMES:
            raise UndefinedObject(f"type with OID {oid} does not exist")
        return _BY_NAME.get(_NAMES[oid], _TEXT)
    if isinstance(node.parent, exp.Cast):
        name = node.parent.to.sql(dialect="postgres").lower()
        if name.endswith("[]"):
            name = "_" + _short(name[:-2])
        return _BY_NAME.get(name, _TEXT)
    return _compared_type(node)


def _compared_type(node: exp.Parameter) -> ParameterType:
    """The type of the column on the other side of a comparison, or its array's within ANY and ALL."""
    child: exp.Expr = node
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Not):  # NOT is what `plain_text` makes of !~ ALL
        child, parent = parent, parent.parent
    is_array = is_quantified(parent)
    if parent is not None and is_array:
        child, parent = parent, parent.parent
    if not isinstance(parent, _COMPARISONS):
        return _BY_NAME["_text"] if is_array else _TEXT
    other = parent.args.get("expression") if parent.this is child else parent.this
    name = _NAME_OF_NUMBER.get(type_of(other, COLUMN_TYPES)) or "text"
    return _BY_NAME.get(f"_{name}" if is_array else name, _TEXT)


def _short(name: str) -> str:
    return {"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "varchar": "text"}.get(name, name)


def parameter_types(tree: exp.Expr, declared: Sequence[int]) -> tuple[ParameterType, ...]:
    """The types of `$1`, `$2`, … of a query."""
    found: dict[int, ParameterType] = {}
    for node in tree.find_all(exp.Parameter):
        if node.name.isdigit():
            found.setdefault(int(node.name), parameter_type(node, declared))
    return tuple(found.get(i + 1, _TEXT) for i in range(max(found, default=0)))
