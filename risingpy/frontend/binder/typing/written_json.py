"""Calls of functions of jsonb over a json: those that only look into it take the text as it was written.

j -> 'a'  =  jsonb_object_field(CAST(j AS jsonb), 'a')  =>  json_object_field(j, 'a')
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.binder.typing.coercion import Operand
from risingpy.plan.expressions import Call
from risingpy.types import JSONB, array_of
from risingpy.types.system_types import JSON, is_json

_LOOKING = frozenset(
    f"jsonb_{name}"
    for name in (
        *("object_field", "object_field_text", "array_element", "array_element_text", "at_path", "at_path_text"),
        *("extract_path", "extract_path_text", "typeof", "array_length", "array_elements", "array_elements_text"),
        *("object_keys", "each_keys", "each_values", "each_text_keys", "each_text_values", "strip_nulls"),
    )
)
_RESULTS = {JSONB: JSON, array_of(JSONB): array_of(JSON)}


def over_written(call: Call, given: Sequence[Operand]) -> Call:
    """The call over the json itself, if what it looks into was given as a json."""
    if call.function not in _LOOKING or not given or not is_json(given[0].type):
        return call
    function = "json_" + call.function.removeprefix("jsonb_")
    return Call(function, (given[0].expr, *call.args[1:]), _RESULTS.get(call.type, call.type))
