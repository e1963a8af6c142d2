"""Parameters of system queries: their types, from the cast around them or from what the client declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from risingpy.errors import UndefinedObject
from risingpy.frontend.catalog.pg_type import TYPES
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


def parameter_type(node: exp.Parameter, declared: Sequence[int]) -> ParameterType:
    """The type of one parameter: the declared one, else that of the cast that it stands in, else text."""
    index = int(node.name) - 1
    oid = declared[index] if index < len(declared) else 0
    if oid:
        if oid not in _NAMES:
            raise UndefinedObject(f"type with OID {oid} does not exist")
        return _BY_NAME.get(_NAMES[oid], _TEXT)
    if isinstance(node.parent, exp.Cast):
        name = node.parent.to.sql(dialect="postgres").lower()
        if name.endswith("[]"):
            name = "_" + _short(name[:-2])
        return _BY_NAME.get(name, _TEXT)
    return _TEXT


def _short(name: str) -> str:
    return {"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "varchar": "text"}.get(name, name)


def parameter_types(tree: exp.Expr, declared: Sequence[int]) -> tuple[ParameterType, ...]:
    """The types of `$1`, `$2`, … of a query."""
    found: dict[int, ParameterType] = {}
    for node in tree.find_all(exp.Parameter):
        if node.name.isdigit():
            found.setdefault(int(node.name), parameter_type(node, declared))
    return tuple(found.get(i + 1, _TEXT) for i in range(max(found, default=0)))
