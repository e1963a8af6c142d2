"""jsonb and json made of values of other types, as DuckDB SQL: what to_jsonb, to_json and their kind give.

Numbers and booleans are themselves, NaN and infinities texts; timestamps have a T between date and time; arrays become
arrays, structs and maps objects; everything else is its text in quotes. json keeps the order of keys, those that come
twice, and texts of json and jsonb as they are; its blanks stand where PostgreSQL's json.c has them.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.errors import InvalidParameterValue
from risingpy.functions.evaluation.sql.casts import cast, text_of, zone_shown
from risingpy.functions.evaluation.sql.nested import flattened
from risingpy.functions.evaluation.sql.text import joined_texts, own_call, quoted, raised
from risingpy.functions.texts_in_zone import SHOWN_IN_ZONE, TEXT_OF_PARTS
from risingpy.plan.expressions import Call, Literal
from risingpy.types import BOOLEAN, BYTEA, JSONB, VARCHAR, SqlType, TypeKind, array_of
from risingpy.types.jsonb import key_order, quote
from risingpy.types.system_types import is_oid

_TIMES = (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP_NS)


def json_of(value: str, type_: SqlType, zone: str | None = None) -> str:
    """The jsonb of a value; NULL of NULL. `zone`: see `casts.text_of`."""
    match type_.kind:
        case TypeKind.JSONB:
            return cast(value, type_, JSONB)
        case TypeKind.BOOLEAN:
            return f"CASE WHEN {value} THEN 'true' WHEN NOT {value} THEN 'false' END"
        case TypeKind.ARRAY:
            item = f"element{type_.depth}"
            parts = f"list_transform({value}, lambda {item}: {json_or_null(item, type_.element, zone)})"
            return f"('[' || {joined_texts(parts, ', ', empty=f'len({value}) = 0')} || ']')"
        case TypeKind.STRUCT:
            pairs = zip(type_.names, type_.items, strict=True)
            fields = {name: json_or_null(f"struct_extract({value}, {quoted(name)})", t, zone) for name, t in pairs}
            return f"CASE WHEN {value} IS NOT NULL THEN {_object(fields)} END"
        case TypeKind.MAP:
            key_type, value_type = type_.items
            entries = f"map_entries({value})"
            names = f"list_transform({entries}, lambda entry: {text_of('entry.key', key_type, zone)})"
            values = f"list_transform({entries}, lambda entry: {json_or_null('entry.value', value_type, zone)})"
            return own_call("jsonb_object_of", [names, values], JSONB)
        case TypeKind.REAL | TypeKind.DOUBLE:
            shown = text_of(value, type_)
            text = own_call("jsonb_quote", [shown], VARCHAR)
            return f"CASE WHEN isfinite({value}) THEN {_plain_number(shown)} ELSE {text} END"
    if type_.is_wide:
        return own_call("wide_json", [value], VARCHAR)
    shown = _scalar_text(value, type_, zone)
    return shown if type_.is_numeric and not is_oid(type_) else own_call("jsonb_quote", [shown], VARCHAR)


def _scalar_text(value: str, type_: SqlType, zone: str | None) -> str:
    """The text of a scalar as json has it: of times, that of ISO 8601."""
    shown = text_of(value, type_, zone)
    if type_.kind is TypeKind.TIMESTAMPTZ:
        minutes = f"regexp_replace({shown}, '([+-][0-9]{{2}})( BC)?$', '\\1:00\\2')"
        shown = f"CASE WHEN regexp_matches({shown}, '[+-][0-9]{{2}}( BC)?$') THEN {minutes} ELSE {shown} END"
    return f"replace(replace({shown}, ' ', 'T'), 'TBC', ' BC')" if type_.kind in _TIMES else shown


def _plain_number(shown: str) -> str:
    """A float's digits without an exponent, as jsonb keeps them."""
    return f"CASE WHEN contains({shown}, 'e') THEN rpy_parse_jsonb({shown}) ELSE {shown} END"


def json_or_null(value: str, type_: SqlType, zone: str | None = None) -> str:
    """As `json_of`, but JSON's null of NULL."""
    return f"coalesce({json_of(value, type_, zone)}, 'null')"


def _object(fields: dict[str, str]) -> str:
    """An object of the json of keys that are known."""
    parts = []
    for k, name in enumerate(sorted(fields, key=key_order)):
        parts.append(f"{quoted((', ' if k else '') + quote(name) + ': ')} || {fields[name]}")
    return f"('{{' || {' || '.join([*parts, quoted('}')])})"


def written_of(value: str, type_: SqlType, zone: str | None = None, comma: str = ",") -> str:
    """The json of a value; NULL of NULL. `comma` stands between its elements or fields, but not inside of these."""
    match type_.kind:
        case TypeKind.JSONB:
            return value
        case TypeKind.ARRAY:
            item = f"element{type_.depth}"
            parts = f"list_transform({value}, lambda {item}: {_written_or_null(item, type_.element, zone)})"
            return f"('[' || {joined_texts(parts, comma, empty=f'len({value}) = 0')} || ']')"
        case TypeKind.STRUCT:
            fields = ["'{'"]
            for k, (name, field_type) in enumerate(zip(type_.names, type_.items, strict=True)):
                fields.append(quoted(comma * (k > 0) + quote(name) + ":"))
                fields.append(_written_or_null(f"struct_extract({value}, {quoted(name)})", field_type, zone))
            return f"CASE WHEN {value} IS NOT NULL THEN ({' || '.join([*fields, quoted('}')])}) END"
        case TypeKind.REAL | TypeKind.DOUBLE:
            shown = text_of(value, type_)
            return f"CASE WHEN isfinite({value}) THEN {shown} ELSE {own_call('jsonb_quote', [shown], VARCHAR)} END"
    return json_of(value, type_, zone)


def _written_or_null(value: str, type_: SqlType, zone: str | None = None) -> str:
    return f"coalesce({written_of(value, type_, zone)}, 'null')"


def _to_json(call: Call, args: list[str]) -> str:
    return written_of(args[0], call.args[0].type, zone_shown(call.args[0]))


def _json_in_lines(call: Call, args: list[str]) -> str:
    """row_to_json and array_to_json with a second argument: whether each field or element has a line of its own."""
    type_, zone = call.args[0].type, zone_shown(call.args[0])
    texts = [written_of(args[0], type_, zone, comma) for comma in (",\n ", ",")]
    return f"CASE WHEN {args[1]} THEN {texts[0]} WHEN NOT {args[1]} THEN {texts[1]} END"


def _json_of_elements(call: Call, args: list[str]) -> str:
    """json_agg, of the array of a group's values: those that have parts begin on lines of their own."""
    element = call.args[0].type.element
    text = _written_or_null("item", element, zone_shown(call.args[0]))
    if element.kind in (TypeKind.ARRAY, TypeKind.STRUCT):
        text = f"CASE WHEN place > 1 AND item IS NOT NULL THEN concat(chr(10), ' ', {text}) ELSE {text} END"
    parts = f"list_transform({args[0]}, lambda item, place: {text})"
    return f"('[' || {joined_texts(parts, ', ', empty=f'len({args[0]}) = 0')} || ']')"


def _json_build_array(call: Call, args: list[str]) -> str:
    parts = [_written_or_null(arg, each.type, zone_shown(each)) for arg, each in zip(args, call.args, strict=True)]
    return "('[' || " + (" || ', ' || ".join(parts) or "''") + " || ']')"


def _json_build_object(call: Call, args: list[str]) -> str:
    if len(call.args) % 2:
        raise InvalidParameterValue("argument list must have even number of elements")
    members = []
    pairs = zip(call.args[::2], args[::2], call.args[1::2], args[1::2], strict=True)
    for k, (key, name, item, value) in enumerate(pairs):
        key_text = _written_key(name, key.type, zone_shown(key), quoted(str(2 * k + 1)))
        members.append(f"{key_text} || ' : ' || {_written_or_null(value, item.type, zone_shown(item))}")
    return "('{' || " + (" || ', ' || ".join(members) or "''") + " || '}')"


def _written_key(value: str, type_: SqlType, zone: str | None, number: str) -> str:
    """A key in quotes: an error where it is NULL or no scalar. `number` is the argument's, as SQL."""
    refused = raised("22023", f"concat('argument ', {number}, ' cannot be null')", VARCHAR)
    text = own_call("jsonb_quote", [_key_text(value, type_, zone)], VARCHAR)
    return f"CASE WHEN {value} IS NULL THEN {refused} ELSE {text} END"


def _json_build_array_of(call: Call, args: list[str]) -> str:
    """json_build_array(VARIADIC array)."""
    type_, zone = call.args[0].type, zone_shown(call.args[0])
    items = flattened(args[0], type_)
    parts = f"list_transform({items}, lambda item: {_written_or_null('item', type_.leaf, zone)})"
    return f"('[' || {joined_texts(parts, ', ', empty=f'len({items}) = 0')} || ']')"


def _json_build_object_of(call: Call, args: list[str]) -> str:
    """json_build_object(VARIADIC array): of keys and values, which alternate."""
    type_, zone = call.args[0].type, zone_shown(call.args[0])
    items = flattened(args[0], type_)
    key = f"concat(CASE WHEN place > 1 THEN ', ' END, {_written_key('item', type_.leaf, zone, 'place')}, ' : ')"
    part = f"CASE WHEN place % 2 = 1 THEN {key} ELSE {_written_or_null('item', type_.leaf, zone)} END"
    parts = f"list_transform({items}, lambda item, place: {part})"
    return _of_pairs(items, f"'{{' || {joined_texts(parts, '', empty=f'len({items}) = 0')} || '}}'")


def _of_pairs(items: str, made: str) -> str:
    """What is made of alternating keys and values: an error where the last key has no value."""
    refused = raised("22023", quoted("argument list must have even number of elements"), VARCHAR)
    return f"CASE WHEN len({items}) % 2 = 1 THEN {refused} ELSE {made} END"


def _json_of_pairs(call: Call, args: list[str]) -> str:
    """json_object_agg: see `_object_of_pairs`."""
    pair = call.args[0].type.element
    key, value = (f"struct_extract(pair, {quoted(name)})" for name in pair.names)
    zone = zone_shown(call.args[0])
    refused = raised("22023", quoted("field name must not be null"), VARCHAR)
    text = own_call("jsonb_quote", [_key_text(key, pair.items[0], zone)], VARCHAR)
    written = _written_or_null(value, pair.items[1], zone)
    member = f"CASE WHEN {key} IS NULL THEN {refused} ELSE {text} END || ' : ' || {written}"
    parts = f"list_transform({args[0]}, lambda pair: {member})"
    return f"('{{ ' || {joined_texts(parts, ', ', empty=f'len({args[0]}) = 0')} || ' }}')"


def _to_jsonb(call: Call, args: list[str]) -> str:
    return json_of(args[0], call.args[0].type, zone_shown(call.args[0]))


def _build_array(call: Call, args: list[str]) -> str:
    parts = [json_or_null(arg, each.type, zone_shown(each)) for arg, each in zip(args, call.args, strict=True)]
    return "('[' || " + (" || ', ' || ".join(parts) or "''") + " || ']')"


def _build_object(call: Call, args: list[str]) -> str:
    keys = call.args[::2]
    if len(call.args) % 2:
        raise InvalidParameterValue("argument list must have even number of elements")
    if all(isinstance(key, Literal) and isinstance(key.value, str) and not _is_json(key.type) for key in keys):
        pairs = zip(keys, args[1::2], call.args[1::2], strict=True)
        return _object(
            {
                str(key.value): json_or_null(arg, each.type, zone_shown(each))
                for key, arg, each in pairs
                if isinstance(key, Literal)
            }
        )
    names = [_key_text(arg, each.type, zone_shown(each)) for arg, each in zip(args[::2], keys, strict=True)]
    values = [
        json_or_null(arg, each.type, zone_shown(each)) for arg, each in zip(args[1::2], call.args[1::2], strict=True)
    ]
    lists = [f"[{', '.join(names)}]", f"[{', '.join(values)}]"]
    return own_call("jsonb_object_of", lists, JSONB)


def _build_array_of(call: Call, args: list[str]) -> str:
    """jsonb_build_array(VARIADIC array)."""
    type_ = call.args[0].type
    return json_of(flattened(args[0], type_), array_of(type_.leaf), zone_shown(call.args[0]))


def _build_object_of(call: Call, args: list[str]) -> str:
    """jsonb_build_object(VARIADIC array): of keys and values, which alternate."""
    type_, zone = call.args[0].type, zone_shown(call.args[0])
    items = flattened(args[0], type_)
    names = f"list_transform({items}[1:-1:2], lambda item: {_key_text('item', type_.leaf, zone)})"
    values = f"list_transform({items}[2:-1:2], lambda item: {json_or_null('item', type_.leaf, zone)})"
    return _of_pairs(items, own_call("jsonb_object_of", [names, values], JSONB))


def _key_text(value: str, type_: SqlType, zone: str | None) -> str:
    """A key as text: an error where it is no scalar, NULL (which `functions` refuse) of NULL."""
    if _is_json(type_) or type_.is_nested:
        message = "key value must be scalar, not array, composite, or json"
        return f"CASE WHEN {value} IS NOT NULL THEN {raised('22023', quoted(message), VARCHAR)} END"
    return _scalar_text(value, type_, zone)


def _is_json(type_: SqlType) -> bool:
    """Whether the type is jsonb or json."""
    return type_.kind is TypeKind.JSONB


def _compared(function: str) -> Callable[[Call, list[str]], str]:
    def compile_comparison(call: Call, args: list[str]) -> str:
        equal = own_call("jsonb_equal", args, BOOLEAN)
        return equal if function == "eq" else f"(NOT {equal})"

    return compile_comparison


def _ordered(operator: str) -> Callable[[Call, list[str]], str]:
    """By the order of keys, as the planner's rule has it where it sees the comparison."""

    def compile_comparison(call: Call, args: list[str]) -> str:
        left, right = (own_call("jsonb_key", [arg], BYTEA) for arg in args)
        return f"({left} {operator} {right})"

    return compile_comparison


def _distinct(*, negated: bool) -> Callable[[Call, list[str]], str]:
    """IS [NOT] DISTINCT FROM: of jsonb, whose texts may differ where the values do not."""

    def compile_comparison(call: Call, args: list[str]) -> str:
        if call.args[0].type.kind is not TypeKind.JSONB:
            return f"({args[0]} IS {'NOT ' * negated}DISTINCT FROM {args[1]})"
        both_null = f"({args[0]} IS NULL AND {args[1]} IS NULL)"
        same = f"coalesce({own_call('jsonb_equal', args, BOOLEAN)}, {both_null})"
        return same if negated else f"(NOT {same})"

    return compile_comparison


def _nullif(call: Call, args: list[str]) -> str:
    if call.args[0].type.kind is not TypeKind.JSONB:
        # DuckDB's nullif is a macro for this text, in which nobody sees that the argument stands twice: nested
        # calls would double it at each level.
        return f"CASE WHEN {args[0]} = {args[1]} THEN NULL ELSE {args[0]} END"
    return f"CASE WHEN {own_call('jsonb_equal', args, BOOLEAN)} THEN NULL ELSE {args[0]} END"


def _object_of_pairs(call: Call, args: list[str]) -> str:
    """jsonb_object_agg: of the array of a group's pairs, which are rows."""
    pair = call.args[0].type.element
    key, value = (f"struct_extract(pair, {quoted(name)})" for name in pair.names)
    zone = zone_shown(call.args[0])
    lists = [_key_text(key, pair.items[0], zone), json_or_null(value, pair.items[1], zone)]
    return own_call("jsonb_object_of_pairs", [f"list_transform({args[0]}, lambda pair: {x})" for x in lists], JSONB)


def _text_in_zone(call: Call, args: list[str]) -> str:
    """The text of a value that has times in it."""
    return text_of(args[0], call.args[0].type, args[1])


JSON: dict[str, Callable[[Call, list[str]], str]] = {
    SHOWN_IN_ZONE: lambda _, args: args[0],
    TEXT_OF_PARTS: _text_in_zone,
    "to_jsonb": _to_jsonb,
    "jsonb_build_array": _build_array,
    "jsonb_build_object": _build_object,
    "jsonb_build_array_of": _build_array_of,
    "jsonb_build_object_of": _build_object_of,
    "jsonb_object_of_pairs": _object_of_pairs,
    "to_json": _to_json,
    "json_build_array": _json_build_array,
    "json_build_object": _json_build_object,
    "json_build_array_of": _json_build_array_of,
    "json_build_object_of": _json_build_object_of,
    "json_in_lines": _json_in_lines,
    "json_of_elements": _json_of_elements,
    "json_object_of_pairs": _json_of_pairs,
    "jsonb_eq": _compared("eq"),
    "jsonb_ne": _compared("ne"),
    "jsonb_lt": _ordered("<"),
    "jsonb_le": _ordered("<="),
    "jsonb_gt": _ordered(">"),
    "jsonb_ge": _ordered(">="),
    "is_distinct_from": _distinct(negated=False),
    "is_not_distinct_from": _distinct(negated=True),
    "nullif": _nullif,
}
