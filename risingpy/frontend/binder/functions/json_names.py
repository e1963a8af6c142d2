"""The functions of the type json: those that make a text make it as it is written; others are those of jsonb.

json_build_object('a', 1)  =>  json_build_object('a', 1), typed as jsonb_build_object is
json_object('{a,1}')       =>  json_object('{a,1}'), likewise
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.user_defined import has_kind
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.expressions import Call, Cast, Expr
from risingpy.types import JSONB, TypeKind
from risingpy.types.system_types import JSON

_WITH_B = (
    *("agg", "array_length", "build_array", "build_object", "extract_path", "extract_path_text", "object"),
    *("object_agg", "populate_record", "strip_nulls", "to_record", "typeof"),
)
_NAMES = {
    "to_json": "to_jsonb",
    **{f"json_{rest}": f"jsonb_{rest}" for rest in _WITH_B},
}
_WRITTEN = {
    "to_jsonb": "to_json",
    "jsonb_build_array": "json_build_array",
    "jsonb_build_object": "json_build_object",
    "jsonb_build_array_of": "json_build_array_of",
    "jsonb_build_object_of": "json_build_object_of",
    "jsonb_object": "json_object",
    "jsonb_object_of_pairs": "json_object_of_pairs",
}
_TAKE_JSON = {  # and the place of the argument that is json
    **{
        f"json_{name}": 0
        for name in (
            *("array_length", "extract_path", "extract_path_text", "typeof", "strip_nulls", "array_elements"),
            *("array_elements_text", "each", "each_text", "object_keys", "to_record", "to_recordset"),
        )
    },
    "json_populate_record": 1,
    "json_populate_recordset": 1,
}
JSON_SETS = {
    f"json_{rest}": f"jsonb_{rest}"
    for rest in (
        *("array_elements", "array_elements_text", "each", "each_text", "object_keys", "populate_record"),
        *("populate_recordset", "to_record", "to_recordset"),
    )
}
"""What stands in FROM."""


def of_json(binder: ExpressionBinder, name: str) -> str | None:
    """The function of jsonb that does what a function of json does; None for any other name, and a user's."""
    of_jsonb = _NAMES.get(name)
    if of_jsonb is None or any(has_kind(binder, kind, name) for kind in FunctionKind):
        return None
    return of_jsonb


def as_json(name: str, made: Expr) -> Expr:
    """What the function of the name gives, `made` as that of jsonb: json, where it is jsonb."""
    if made.type != JSONB:
        return made
    if isinstance(made, Call) and made.function in _WRITTEN:
        function = "json_of_elements" if name == "json_agg" else _WRITTEN[made.function]
        return Call(function, made.args, JSON)
    return Cast(made, JSON)


def json_arguments(binder: ExpressionBinder, call: exp.Expr, args: list[Operand]) -> list[Operand]:
    """The arguments of a call: a literal, or a parameter, that is to be json is one."""
    at = _TAKE_JSON.get(name_of(call.this) if isinstance(call.this, str | exp.Identifier) else "", len(args))
    if at >= len(args) or args[at].type.kind is not TypeKind.UNKNOWN:
        return args
    made = Operand(binder.context.coercer.coerce(args[at], JSON, Context.IMPLICIT), args[at].where)
    return [*args[:at], made, *args[at + 1 :]]
