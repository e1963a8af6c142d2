"""The functions of the type json: those of jsonb, which do the same, for a json value is that of a jsonb.

json_build_object('a', 1)  =>  CAST(jsonb_build_object('a', 1) AS json)
"""

from __future__ import annotations

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.user_defined import has_kind
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Cast, Expr
from risingpy.types import JSONB
from risingpy.types.system_types import JSON

_WITH_B = (
    *("agg", "array_length", "build_array", "build_object", "extract_path", "extract_path_text", "object"),
    *("object_agg", "strip_nulls", "typeof"),
)
_NAMES = {
    **dict.fromkeys(("to_json", "row_to_json", "array_to_json"), "to_jsonb"),
    **{f"json_{rest}": f"jsonb_{rest}" for rest in _WITH_B},
}
JSON_SETS = {
    f"json_{rest}": f"jsonb_{rest}"
    for rest in (
        *("array_elements", "array_elements_text", "each", "each_text", "object_keys", "populate_record"),
        *("populate_recordset", "to_record", "to_recordset"),
    )
}
"""Functions of sets. What they give of json is jsonb."""


def of_json(binder: ExpressionBinder, name: str) -> str:
    """The function of jsonb that does what a function of json does; any other name, and a user's, as it is."""
    of_jsonb = _NAMES.get(name)
    if of_jsonb is None or any(has_kind(binder, kind, name) for kind in FunctionKind):
        return name
    return of_jsonb


def as_json(made: Expr) -> Expr:
    """What such a function gives: json, where it gives jsonb."""
    return Cast(made, JSON) if made.type == JSONB else made
