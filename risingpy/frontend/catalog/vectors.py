"""int2vector and oidvector in system queries: lists in DuckDB, which count from 0 in PostgreSQL and show as `1 2`.

i.indkey[ia.attnum - 1]            =>  indkey[(ia.attnum - 1) + 1]
generate_subscripts(indkey, 1)     =>  UNNEST(RANGE(0, LEN(indkey)))
indkey::text                       =>  ARRAY_TO_STRING(indkey, ' ')
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from risingpy.frontend.catalog.column_types import ARRAYS, VECTORS, type_of
from risingpy.frontend.catalog.functions import instantiate
from risingpy.frontend.catalog.system_relation import SystemType

_FUNCTIONS = {
    "array_lower": "CASE WHEN LEN($1) > 0 THEN 0 END",
    "array_upper": "LEN($1) - 1",
    "generate_subscripts": "UNNEST(RANGE(0, LEN($1)))",
    "array_position": "LIST_POSITION($1, $2) - 1",
}
_TEXT = "ARRAY_TO_STRING($1, ' ')"
_ARRAY_TEXT = "'{' || ARRAY_TO_STRING($1, ',') || '}'"


def vector_form(node: exp.Expr, types: Mapping[str, SystemType]) -> exp.Expr | None:
    """What a subscript, a call or a cast to text of a vector becomes; None if it is none."""
    if isinstance(node, exp.Bracket) and type_of(node.this, types) in VECTORS:
        return _subscript(node)
    if isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES:
        found = type_of(node.this, types)
        if found not in ARRAYS:
            return None
        return exp.paren(instantiate(_TEXT if found in VECTORS else _ARRAY_TEXT, [node.this]))
    if isinstance(node, exp.Anonymous | exp.ArrayPosition):
        name = str(node.name).lower() if isinstance(node, exp.Anonymous) else "array_position"
        arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this, node.expression]
        if name in _FUNCTIONS and arguments and type_of(arguments[0], types) in VECTORS:
            return exp.paren(instantiate(_FUNCTIONS[name], arguments))
    return None


def _subscript(node: exp.Bracket) -> exp.Expr:
    shifted = node.copy()
    one = exp.Literal.number(1)
    for part in shifted.expressions:
        bounds = [part.this, part.expression] if isinstance(part, exp.Slice) else [part]
        for bound in filter(None, bounds):
            bound.replace(exp.Add(this=exp.paren(bound.copy()), expression=one.copy()))
    return shifted
