"""Casts as DuckDB SQL, with PostgreSQL's meaning.

DuckDB's own cast serves where the two agree. Texts are read and written by `types.forms`, through functions
that `duckdb_functions` registers; doubles become numerics by their shortest decimal form of 15 digits.
"""

from __future__ import annotations

from risingpy.functions.evaluation.sql.text import joined_texts, own_call, quoted, raised
from risingpy.functions.texts_in_zone import TEXT_IN_ZONE, text_function, zone_of
from risingpy.functions.topics.enums import packed_enum
from risingpy.functions.topics.times.nanoseconds import CASTS as NANO_CASTS
from risingpy.plan.expressions import Expr
from risingpy.types import DOUBLE, MAX_PRECISION, NUMERIC, TIMESTAMP, VARCHAR, VECTOR, SqlType, TypeKind, array_of
from risingpy.types.date_units import MICROS_OF_DAY
from risingpy.types.enums.enumeration import labels_of
from risingpy.types.families import FAMILIES, MULTIRANGE_OF
from risingpy.types.ranges.multiranges import element_of, prefix_of
from risingpy.types.system_types import is_json
from risingpy.types.time_precision import MOST_DIGITS

_EXACT_IN_DOUBLE = 15  # digits
_NEAR = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)
_BY_FUNCTION = {  # casts that are a function of ours
    (TypeKind.INET, TypeKind.CIDR): "network",
    **NANO_CASTS,
    **{(one, several): f"{prefix_of(element_of(several))}_of_range" for one, several in MULTIRANGE_OF.items()},
}
_SIGNIFICANT = {TypeKind.REAL: 6, TypeKind.DOUBLE: 15}


def cast(value: str, source: SqlType, target: SqlType) -> str:
    """The cast of the SQL expression `value` from one type to another."""
    if target.has_clock and target.length is not None:
        return _rounded(value, source, target)
    if source.is_nested and source.kind is target.kind:
        return _items_cast(value, source, target)
    if TypeKind.VECTOR in (source.kind, target.kind) and not (source.is_text or target.is_text):
        return _vector_cast(value, source, target)
    if source.is_bits or target.is_bits:
        return _bits_cast(value, source, target)
    if source.kind is target.kind and source.kind is not TypeKind.NUMERIC:
        return _parsed(value, target) if is_json(source) and not is_json(target) else _cut(value, target)
    if TypeKind.INT256 in (source.kind, target.kind) and (source.is_numeric or target.is_numeric):
        return _large_cast(value, source, target)
    if source.is_wide or target.is_wide:
        return _wide_cast(value, source, target)
    plain = f"CAST({value} AS {target.duckdb})"
    match source.kind, target.kind:
        case pair if pair in _BY_FUNCTION:
            return own_call(_BY_FUNCTION[pair], [value], target)
        case TypeKind.CIDR, TypeKind.INET:
            return value
        case TypeKind.INET, TypeKind.VARCHAR | TypeKind.CHARACTER:
            return _cut(own_call("inet_shown", [value], VARCHAR), target)
        case TypeKind.VARCHAR | TypeKind.CHARACTER | TypeKind.UNKNOWN, TypeKind.VECTOR:
            return _vector_cast(_parsed(value, VECTOR), VECTOR, target)
        case _, TypeKind.VARCHAR | TypeKind.CHARACTER | TypeKind.UNKNOWN:
            return _cut(text_of(value, source), target)
        case TypeKind.VARCHAR | TypeKind.CHARACTER | TypeKind.UNKNOWN, _:
            return _parsed(value, target)
        case TypeKind.JSONB, _:
            return own_call(f"jsonb_to_{target.kind.name.lower()}", [value], target)
        case TypeKind.REAL | TypeKind.DOUBLE, TypeKind.NUMERIC:
            shown = f"format('{{:.{_SIGNIFICANT[source.kind]}g}}', CAST({value} AS DOUBLE))"
            return f"CAST({shown} AS {target.duckdb})"
        case TypeKind.NUMERIC, TypeKind.REAL | TypeKind.DOUBLE if (source.precision or 0) > _EXACT_IN_DOUBLE:
            return f"CAST(CAST({value} AS VARCHAR) AS {target.duckdb})"
        case TypeKind.DOUBLE, TypeKind.REAL:
            underflow = raised("22003", quoted("value out of range: underflow"), target)
            return f"CASE WHEN {plain} = 0 AND {value} <> 0 THEN {underflow} ELSE {plain} END"
        case TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ, TypeKind.TIME:
            return f"CASE WHEN isfinite({value}) THEN CAST(CAST({value} AS TIMESTAMP) AS TIME) END"
        case TypeKind.DATE, TypeKind.TIMESTAMP | TypeKind.TIMESTAMPTZ:
            far = own_call("timestamp_of_date", [value], TIMESTAMP)
            return f"CAST(CASE WHEN {_is_near(value, source)} THEN {plain} ELSE {far} END AS {target.duckdb})"
        case TypeKind.TIME, TypeKind.INTERVAL:
            return f"to_microseconds(epoch_us({value}))"
        case TypeKind.INTERVAL, TypeKind.TIME:
            return _time_of(value)
    return plain


def _rounded(value: str, source: SqlType, target: SqlType) -> str:
    """A cast to timestamp(n), time(n) or interval(n)."""
    bare = SqlType(target.kind)
    whole = value if source.kind is target.kind else cast(value, source, bare)
    if target.length in (MOST_DIGITS, source.length if source.kind is target.kind else None):
        return whole
    return own_call("to_precision", [whole, str(target.length)], bare)


def _vector_cast(value: str, source: SqlType, target: SqlType) -> str:
    """A cast between vectors, which checks the number of dimensions, and between vectors and arrays."""
    if target.kind is TypeKind.ARRAY:
        return own_call("array_of_vector", [value], target)
    if source.kind is TypeKind.ARRAY:
        value = own_call("vector_of_array", [cast(value, source, array_of(DOUBLE))], VECTOR)
    if target.length in (None, source.length):
        return value
    return own_call("vector_of_dimensions", [value, str(target.length)], target)


def _bits_cast(value: str, source: SqlType, target: SqlType) -> str:
    """A cast of digits 0 and 1: bit(n) cuts them or adds zeros, bit varying(n) cuts them."""
    if source.is_integer:
        return own_call("bits_of_integer", [f"CAST({value} AS BIGINT)", str(target.length or 1)], target)
    if target.is_integer:
        return own_call(f"bits_to_{target.kind.value}", [value], target)
    if target.is_text or target.kind is TypeKind.UNKNOWN:
        return _cut(value, target)
    bits = value if source.is_bits else _parsed(value, SqlType(target.kind))
    if target.length is None:
        return bits
    return f"left({bits}, {target.length})" if target.kind is TypeKind.VARBIT else f"rpad({bits}, {target.length}, '0')"


def _large_cast(value: str, source: SqlType, target: SqlType) -> str:
    """A cast between rw_int256 and another number, by its text."""
    if source.kind is TypeKind.NUMERIC:
        value = own_call("wide_rounded_text", [cast(value, source, NUMERIC), "0"], VARCHAR)
    return cast(value if source.kind is TypeKind.NUMERIC else text_of(value, source), VARCHAR, target)


def _wide_cast(value: str, source: SqlType, target: SqlType) -> str:
    """A cast to or from a wide numeric, or both."""
    if source.is_wide and target.is_wide:
        return value
    if target.is_wide:
        match source.kind:
            case TypeKind.NUMERIC:
                return own_call("wide_of_numbers", [value], target)
            case TypeKind.SMALLINT | TypeKind.INTEGER | TypeKind.BIGINT:
                return own_call("wide_of_numbers", [f"CAST({value} AS BIGINT)"], target)
            case TypeKind.REAL | TypeKind.DOUBLE:
                shown = f"format('{{:.{_SIGNIFICANT[source.kind]}g}}', CAST({value} AS DOUBLE))"
                return own_call("wide_of_text", [shown], target)
            case TypeKind.JSONB:
                return own_call("jsonb_to_numeric", [value], target)
        return own_call("wide_of_text", [value], target)
    if target.is_text or target.kind is TypeKind.UNKNOWN:
        return _cut(text_of(value, source), target)
    if target.is_float:
        return cast(f"CAST({text_of(value, source)} AS DOUBLE)", DOUBLE, target)
    if target.is_integer:
        shown = own_call(f"wide_{target.kind.value}_text", [value], VARCHAR)
    else:
        shown = own_call("wide_rounded_text", [value, str(target.scale or 0)], VARCHAR)
    return f"CAST({shown} AS {target.duckdb})"


def text_of(value: str, type_: SqlType, zone: str | None = None) -> str:
    """The text that PostgreSQL shows of a value; `zone` is SQL of a time zone's name, UTC if it is not given."""
    if type_.is_text or type_.is_bits or type_.kind in (TypeKind.UNKNOWN, TypeKind.JSONB):
        return value
    match type_.kind:
        case TypeKind.ARRAY:
            join = "rpy_text_of_arrays" if type_.element.kind is TypeKind.ARRAY else "rpy_text_of_array"
            part = part_text(_item(type_), type_.element, zone)
            return f"{join}(list_transform({value}, lambda {_item(type_)}: {part}))"
        case TypeKind.STRUCT:
            pairs = zip(type_.names, type_.items, strict=True)
            fields = (part_text(f"struct_extract({value}, {quoted(name)})", t, zone) for name, t in pairs)
            text = f"rpy_text_of_row([{', '.join(fields)}])" if type_.items else "'()'"
            return f"CASE WHEN {value} IS NOT NULL THEN {text} END"
        case TypeKind.MAP:
            sides = zip(("key", "value"), type_.items, strict=True)
            parts = [f"coalesce({text_of(f'entry.{side}', t, zone)}, 'NULL')" for side, t in sides]
            entries = f"list_transform(map_entries({value}), lambda entry: {' || chr(58) || '.join(parts)})"
            joined = joined_texts(entries, ",", empty=f"cardinality({value}) = 0")
            return f"('{{' || {joined} || '}}')"
        case TypeKind.ENUM:
            return _label_of(value, type_)
    if zone is not None and type_.kind in TEXT_IN_ZONE:
        return own_call(text_function(type_), [value, zone], VARCHAR)
    if type_.is_wide:
        return own_call("wide_text", [value], VARCHAR)
    if type_.kind in _NEAR:
        near = _is_near(value, type_)
        return f"CASE WHEN {near} THEN CAST({value} AS VARCHAR) ELSE {_own_text(value, type_)} END"
    if FAMILIES[type_.kind].own_text:
        return _own_text(value, type_)
    return f"CAST({value} AS VARCHAR)"


def _own_text(value: str, type_: SqlType) -> str:
    return f"rpy_text_{type_.kind.name.lower()}({value})"


def _is_near(value: str, type_: SqlType) -> str:
    """Whether a date or timestamp is in a year of four digits, where DuckDB writes what PostgreSQL does."""
    end = "9999-12-31" if type_.kind is TypeKind.DATE else "9999-12-31 23:59:59.999999"
    first, last = (f"CAST('{each}' AS {type_.duckdb})" for each in ("0001-01-01", end))
    return f"{value} BETWEEN {first} AND {last}"


def _label_of(value: str, type_: SqlType) -> str:
    """The label that a number stands for. A CASE would have the value in it as often as there are labels."""
    labels = labels_of(type_)
    numbers = f"CAST([{', '.join(str(label.number) for label in labels)}] AS BIGINT[])"
    texts = f"CAST([{', '.join(quoted(label.text) for label in labels)}] AS VARCHAR[])"
    return f"list_extract({texts}, list_position({numbers}, {value}))"


def part_text(value: str, type_: SqlType, zone: str | None = None) -> str:
    """The text of a part of an array or a row: of a boolean, t or f."""
    return f"left({text_of(value, type_)}, 1)" if type_.kind is TypeKind.BOOLEAN else text_of(value, type_, zone)


def zone_shown(arg: Expr) -> str | None:
    """SQL of the name of the time zone in which a function's argument is to be shown; None for UTC."""
    zone = zone_of(arg)
    return None if zone is None else quoted(zone)


def parse_function(target: SqlType) -> str:
    """The name of the registered function that reads a text as `target`."""
    if target.kind is TypeKind.NUMERIC:
        return f"rpy_parse_numeric_{target.scale}"
    return f"rpy_parse_{target.system if is_json(target) else target.kind.name.lower()}"


def _cut(text: str, target: SqlType) -> str:
    """A text as varchar(n) or char(n), whose last blanks mean nothing."""
    cut = text if target.length is None else f"left({text}, {target.length})"
    return f"rtrim({cut}, ' ')" if target.kind is TypeKind.CHARACTER else cut


def _item(type_: SqlType) -> str:
    """The name of an element inside of a lambda; that of an outer lambda is another."""
    return f"item{type_.depth}"


def _items_cast(value: str, source: SqlType, target: SqlType) -> str:
    """A cast of what an array, a struct or a map is made of."""
    if source == target:
        return value
    match source.kind:
        case TypeKind.ARRAY:
            item = _item(source)
            changed = cast(item, source.element, target.element)
            if changed == f"CAST({item} AS {target.element.duckdb})":
                return f"CAST({value} AS {target.duckdb})"
            return f"CAST(list_transform({value}, lambda {item}: {changed}) AS {target.duckdb})"
        case TypeKind.STRUCT:
            names = zip(source.names, source.items, target.items, strict=True)
            fields = ", ".join(cast(f"struct_extract({value}, {quoted(name)})", a, b) for name, a, b in names)
            return f"CASE WHEN {value} IS NOT NULL THEN CAST(row({fields}) AS {target.duckdb}) END"
        case TypeKind.MAP:
            sides = zip(("key", "value"), source.items, target.items, strict=True)
            pair = ", ".join(cast(f"entry.{side}", a, b) for side, a, b in sides)
            entries = f"list_transform(map_entries({value}), lambda entry: row({pair}))"
            return f"CAST(map_from_entries({entries}) AS {target.duckdb})"
    return f"CAST({value} AS {target.duckdb})"


def _parsed(value: str, target: SqlType) -> str:
    match target.kind:
        case TypeKind.ARRAY:
            item = _item(target)
            pieces = f"rpy_items_of_array({value})" if target.depth == 1 else f"rpy_parts_of_array({value})"
            changed = cast(item, VARCHAR, target.element)
            return f"CAST(list_transform({pieces}, lambda {item}: {changed}) AS {target.duckdb})"
        case TypeKind.STRUCT:
            pieces = f"rpy_fields_of_row({value}, {len(target.items)})"
            fields = ", ".join(cast(f"{pieces}[{k}]", VARCHAR, item) for k, item in enumerate(target.items, 1))
            return f"CASE WHEN {value} IS NOT NULL THEN CAST(row({fields}) AS {target.duckdb}) END"
        case TypeKind.ENUM:
            return own_call("enum_of", [quoted(packed_enum(target)), value], target)
    read = f"{parse_function(target)}({value})"
    if target.kind is TypeKind.NUMERIC and target.precision != MAX_PRECISION:
        return f"CAST({read} AS {target.duckdb})"
    return read


def _time_of(value: str) -> str:
    """The part of an interval below a day, as a time of day."""
    micros = f"epoch_us({value})"
    seconds = f"((({micros} % {MICROS_OF_DAY}) + {MICROS_OF_DAY}) % {MICROS_OF_DAY})"
    return f"CAST(make_timestamp(CAST({seconds} AS BIGINT)) AS TIME)"
