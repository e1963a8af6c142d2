"""Functions and operators on arrays and structs as DuckDB SQL; those on maps are in `maps.py`.

Subscripts count from 1; one that is out of range gives NULL, or an empty slice (`array_parts.py`). Searching and
removing take NULL for equal to NULL; containment never finds it.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.array_parts import ARRAY_PARTS, ELEMENT_BYTES, MOST_ELEMENTS
from risingpy.functions.evaluation.sql.casts import part_text, zone_shown
from risingpy.functions.evaluation.sql.series import SERIES
from risingpy.functions.evaluation.sql.text import joined_texts, own_call, quoted, raised
from risingpy.plan.expressions import Call, InputRef, Literal
from risingpy.types import BOOLEAN, BYTEA, VARCHAR, SqlType, TypeKind, array_of
from risingpy.types.system_types import is_json

Compile = Callable[[Call, list[str]], str]

_LARGE = 1 << 20  # bytes of a text


def _array(call: Call, args: list[str]) -> str:
    return f"CAST([{', '.join(args)}] AS {call.type.duckdb})"


def _subscript(call: Call, args: list[str]) -> str:
    index = call.args[1]
    if isinstance(index, Literal) and isinstance(index.value, int) and index.value > 0:
        return f"{args[0]}[{args[1]}]"
    return f"CASE WHEN {args[1]} > 0 THEN {args[0]}[{args[1]}] END"


def _row(call: Call, args: list[str]) -> str:
    return f"CAST(row({', '.join(args) or 'NULL'}) AS {call.type.duckdb})"


def _field(call: Call, args: list[str]) -> str:
    return f"struct_extract({args[0]}, {args[1]})"


# -- keys of numbers ----------------------------------------------------------------------------------------------


def numbers_as_keys(value: str, type_: SqlType) -> str:
    """A value with the keys of the wide numerics and jsonb in it (`optimizer.rules.numeric_keys`)."""
    if type_.is_wide:
        return f"array_slice({value}, 1, 41)"
    match type_.kind:
        case TypeKind.JSONB if is_json(type_):
            return f"encode({value})"  # nothing compares it; where rows are told apart by it, its text does
        case TypeKind.JSONB:
            return own_call("jsonb_key", [value], BYTEA)
        case TypeKind.ARRAY:
            item = f"number{type_.depth}"
            return f"list_transform({value}, lambda {item}: {numbers_as_keys(item, type_.element)})"
        case TypeKind.STRUCT:
            names = [quoted(name) for name in type_.names]
            parts = [f"struct_extract({value}, {name})" for name in names]
            changed = map(numbers_as_keys, parts, type_.items)
            packed = ", ".join(f"{name}: {part}" for name, part in zip(names, changed, strict=True))
            return f"CASE WHEN {value} IS NOT NULL THEN {{{packed}}} END"
    return value


# -- joining and changing -----------------------------------------------------------------------------------------


def _cat(call: Call, args: list[str]) -> str:
    a, b = args
    return f"CASE WHEN {a} IS NULL THEN {b} WHEN {b} IS NULL THEN {a} ELSE list_concat({a}, {b}) END"


def _append(call: Call, args: list[str]) -> str:
    return f"list_append({args[0]}, {args[1]})"


def _prepend(call: Call, args: list[str]) -> str:
    return f"list_prepend({args[0]}, {args[1]})"


def _remove(call: Call, args: list[str]) -> str:
    item, removed = _compared(call, "item", args[1])
    return f"list_filter({args[0]}, lambda item: {item} IS DISTINCT FROM {removed})"


def _replace(call: Call, args: list[str]) -> str:
    array, old, new = args
    item, replaced = _compared(call, "item", old)
    changed = f"CASE WHEN {item} IS NOT DISTINCT FROM {replaced} THEN {new} ELSE item END"
    return f"list_transform({array}, lambda item: {changed})"


def _distinct(call: Call, args: list[str]) -> str:
    keys, (item,) = numbers_as_keys(args[0], call.type), _compared(call, "item")
    return f"list_filter({args[0]}, lambda item, place: list_position({keys}, {item}) = place)"


def _compared(call: Call, *elements: str) -> list[str]:
    """Elements of the array that the call gives, as they are compared: 1.0 is 1.00."""
    return [numbers_as_keys(element, call.type.element) for element in elements]


def _pairs(call: Call, array: str) -> str | None:
    """The elements with their keys in front, if those order otherwise than the elements; NULL of NULL."""
    element = call.args[0].type.element
    key = numbers_as_keys("item", element)
    if element.is_wide or key == "item":
        return None
    return f"list_transform({array}, lambda item: CASE WHEN item IS NOT NULL THEN {{'key': {key}, 'value': item}} END)"


def _sorted(call: Call, args: list[str]) -> str:
    pairs = _pairs(call, args[0])
    if pairs is None:
        return f"list_sort({args[0]})"
    return f"list_transform(list_sort({pairs}), lambda pair: struct_extract(pair, 'value'))"


def _extreme(function: str) -> Compile:
    def compile_extreme(call: Call, args: list[str]) -> str:
        pairs = _pairs(call, args[0])
        return f"{function}({args[0]})" if pairs is None else f"struct_extract({function}({pairs}), 'value')"

    return compile_extreme


def _trim(call: Call, args: list[str]) -> str:
    array, count = args
    message = f"concat('number of elements to trim must be between 0 and ', len({array}))"
    failure = raised("2202E", message, call.type)
    kept = f"list_slice({array}, 1, len({array}) - {count})"
    empty = f"CAST([] AS {call.type.duckdb})"
    return (
        f"CASE WHEN {count} < 0 OR {count} > len({array}) THEN {failure}"
        f" WHEN {count} = len({array}) THEN {empty} ELSE {kept} END"
    )


# -- size ---------------------------------------------------------------------------------------------------------


def _length(call: Call, args: list[str]) -> str:
    """The length of a dimension: of the first part at that depth. NULL where there is none."""
    lengths = _lengths(args[0], call.args[0].type.depth)
    if len(args) == 1:
        return lengths[0]
    branches = " ".join(f"WHEN {k} THEN {length}" for k, length in enumerate(lengths, 1))
    return f"CASE {args[1]} {branches} END"


def _lengths(array: str, depth: int) -> list[str]:
    lengths = [f"len({array}{'[1]' * k})" for k in range(depth)]
    return [f"CASE WHEN {length} > 0 THEN CAST({length} AS INTEGER) END" for length in lengths]


def _lower(call: Call, args: list[str]) -> str:
    return f"CASE WHEN {_length(call, args)} > 0 THEN 1 END"


def _dimensions(call: Call, args: list[str]) -> str:
    return f"CASE WHEN len({args[0]}) > 0 THEN {call.args[0].type.depth} END"


def _dims(call: Call, args: list[str]) -> str:
    lengths = _lengths(args[0], call.args[0].type.depth)
    shown = ", ".join(f"'[1:' || {length} || ']'" for length in lengths)
    return f"CASE WHEN len({args[0]}) > 0 THEN concat({shown}) END"


def _cardinality(call: Call, args: list[str]) -> str:
    return f"CAST(len({flattened(args[0], call.args[0].type)}) AS INTEGER)"


def flattened(array: str, type_: SqlType) -> str:
    """An array of one dimension with all that the array holds."""
    for _ in range(type_.depth - 1):
        array = f"flatten({array})"
    return array


# -- searching ----------------------------------------------------------------------------------------------------


def _position(call: Call, args: list[str]) -> str:
    if len(args) == 2:
        return f"CAST(list_position({args[0]}, {args[1]}) AS INTEGER)"
    array, item, start = args
    skipped = f"greatest({start}, 1) - 1"
    found = f"list_position(list_slice({array}, greatest({start}, 1), len({array})), {item})"
    return f"CASE WHEN {start} IS NOT NULL THEN CAST({found} + {skipped} AS INTEGER) END"


def _positions(call: Call, args: list[str]) -> str:
    array, item = args
    found = f"list_filter(range(1, len({array}) + 1), lambda place: {array}[place] IS NOT DISTINCT FROM {item})"
    return f"CASE WHEN {array} IS NOT NULL THEN CAST({found} AS {call.type.duckdb}) END"


def _contains(call: Call, args: list[str]) -> str:
    return _has_all(call, args[0], args[1])


def _contained(call: Call, args: list[str]) -> str:
    return _has_all(call, args[1], args[0])


def _has_all(call: Call, whole: str, part: str) -> str:
    type_ = call.args[0].type
    whole, part = flattened(whole, type_), flattened(part, type_)
    return f"(list_has_all({whole}, {part}) AND list_count({part}) = len({part}))"


def _overlaps(call: Call, args: list[str]) -> str:
    return f"list_has_any({', '.join(flattened(arg, call.args[0].type) for arg in args)})"


def compared_with_all(call: Call, args: list[str], compile_call: Compile) -> str:
    """`any_lt(x, a)`, `all_lt(x, a)`: whether x < some, or every, element of a. NULLs count as unknown."""
    word, _, function = call.function.partition("_")
    element = call.args[1].type.element
    inner = compile_call(Call(function, (call.args[0], InputRef(0, element)), BOOLEAN), [args[0], "item"])
    tests = f"list_transform({args[1]}, lambda item: {inner})"
    decisive, otherwise = ("TRUE", "FALSE") if word == "any" else ("FALSE", "TRUE")
    all_known = f"len({tests}) = list_count({tests})"
    return f"CASE WHEN list_contains({tests}, {decisive}) THEN {decisive} WHEN {all_known} THEN {otherwise} END"


# -- text ---------------------------------------------------------------------------------------------------------


def _to_string(call: Call, args: list[str]) -> str:
    type_ = call.args[0].type
    shown = part_text("item", type_.leaf, zone_shown(call.args[0]))
    if len(args) == 3:
        shown = f"coalesce({shown}, {args[2]})"
    texts = f"list_transform({flattened(args[0], type_)}, lambda item: {shown})"
    match call.args[1]:
        case Literal(str(separator)):  # list_reduce, which takes any, copies the text for each part
            texts = f"list_filter({texts}, lambda word: word IS NOT NULL)"
            joined = joined_texts(texts, separator, empty=f"len({texts}) = 0")
            return f"CASE WHEN {args[0]} IS NOT NULL THEN {joined} END"
    # DuckDB's own array_to_string wants a constant separator.
    texts = f"list_filter({texts}, lambda word: word IS NOT NULL)"
    joined = f"list_reduce({texts}, lambda joined, word: joined || {args[1]} || word)"
    return f"CASE WHEN {args[1]} IS NOT NULL THEN CASE WHEN len({texts}) = 0 THEN '' ELSE {joined} END END"


def _format_array(call: Call, args: list[str]) -> str:
    template, array = args
    shown = part_text("item", call.args[1].type.leaf, zone_shown(call.args[1]))
    texts = f"list_transform({flattened(array, call.args[1].type)}, lambda item: {shown})"
    return own_call("format_array", [template, texts], VARCHAR)


def _from_string(call: Call, args: list[str]) -> str:
    text, separator = args[:2]
    is_large = f"strlen({text}) > {_LARGE}"
    small = f"CASE WHEN NOT {is_large} THEN {text} END"  # DuckDB cannot be interrupted while it splits a text
    pieces = (
        f"CASE WHEN {text} IS NULL THEN NULL WHEN {text} = '' THEN CAST([] AS VARCHAR[])"
        f" WHEN {separator} IS NULL THEN string_split({text}, '')"
        f" WHEN {separator} = '' THEN [{text}]"
        f" WHEN {is_large} THEN {own_call('large_split', [text, separator], array_of(VARCHAR))}"
        f" ELSE string_split({small}, {separator}) END"
    )
    if len(args) == 2:
        return pieces
    return f"list_transform({pieces}, lambda item: CASE WHEN item IS DISTINCT FROM {args[2]} THEN item END)"


# -- sets ---------------------------------------------------------------------------------------------------------


def _subscripts(call: Call, args: list[str]) -> str:
    rising = f"CAST(range(1, coalesce({_length(call, args[:2])}, 0) + 1) AS {call.type.duckdb})"
    if len(args) == 2:
        return rising
    return f"CASE WHEN {args[2]} THEN list_reverse({rising}) WHEN NOT {args[2]} THEN {rising} END"


def _fill(call: Call, args: list[str]) -> str:
    """array_fill: the value as often as the dimensions say; empty if one of them is 0."""
    filled, sizes = args
    fits = own_call("fits", [f"CAST(list_product({sizes}) AS BIGINT) * {ELEMENT_BYTES}"], BOOLEAN)
    for place in range(call.type.depth, 0, -1):
        filled = f"list_transform(range(CASE WHEN {fits} THEN {sizes}[{place}] END), lambda place{place}: {filled})"
    unknown = raised("22004", "'dimension values cannot be null'", call.type)
    missing = raised("22004", "'dimension array or low bound array cannot be null'", call.type)
    too_large = raised("54000", f"'array size exceeds the maximum allowed ({MOST_ELEMENTS})'", call.type)
    return (
        f"CASE WHEN {sizes} IS NULL THEN {missing} WHEN len({sizes}) <> list_count({sizes}) THEN {unknown}"
        f" WHEN list_min({sizes}) < 0 OR list_product({sizes}) > {MOST_ELEMENTS} THEN {too_large}"
        f" WHEN list_contains({sizes}, 0) THEN CAST([] AS {call.type.duckdb})"
        f" ELSE CAST({filled} AS {call.type.duckdb}) END"
    )


def _bucket(call: Call, args: list[str]) -> str:
    """width_bucket(operand, thresholds): how many of the thresholds, which ascend, are not above the operand."""
    value, thresholds = args
    has_null = raised("22004", "'thresholds array must not contain NULLs'", call.type)
    count = f"CAST(len(list_filter({thresholds}, lambda bound: bound <= {value})) AS INTEGER)"
    found = f"CASE WHEN list_contains(list_transform({thresholds}, lambda bound: bound IS NULL), TRUE) THEN {has_null}"
    return f"CASE WHEN {value} IS NOT NULL AND {thresholds} IS NOT NULL THEN {found} ELSE {count} END END"


def _leaves(call: Call, args: list[str]) -> str:
    return flattened(args[0], call.args[0].type)


def _ordered(symbol: str) -> Compile:
    """`<` and its kind. DuckDB turns two bounds on an array into a BETWEEN, which it lacks; casts keep it from that."""

    def compile_comparison(call: Call, args: list[str]) -> str:
        compared = f"({args[0]} {symbol} {args[1]})"
        return f"CAST(CAST({compared} AS TINYINT) AS BOOLEAN)" if call.args[0].type.is_nested else compared

    return compile_comparison


NESTED: dict[str, Compile] = {
    "lt": _ordered("<"),
    "le": _ordered("<="),
    "gt": _ordered(">"),
    "ge": _ordered(">="),
    "array": _array,
    "subscript": _subscript,
    **ARRAY_PARTS,
    "row": _row,
    "field": _field,
    "array_cat": _cat,
    "array_append": _append,
    "array_prepend": _prepend,
    "array_remove": _remove,
    "array_replace": _replace,
    "array_distinct": _distinct,
    "trim_array": _trim,
    "array_length": _length,
    "array_lower": _lower,
    "array_ndims": _dimensions,
    "array_dims": _dims,
    "cardinality": _cardinality,
    "array_position": _position,
    "array_positions": _positions,
    "array_contains": _contains,
    "array_contained": _contained,
    "array_overlaps": _overlaps,
    "array_to_string": _to_string,
    "format_array": _format_array,
    "string_to_array": _from_string,
    **SERIES,
    "generate_subscripts": _subscripts,
    "array_fill": _fill,
    "array_leaves": _leaves,
    "width_bucket_array": _bucket,
    "array_reverse": lambda call, args: f"list_reverse({args[0]})",
    "array_sort": _sorted,
    "array_min": _extreme("list_min"),
    "array_max": _extreme("list_max"),
}
