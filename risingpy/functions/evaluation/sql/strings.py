"""Functions on text as DuckDB SQL, with PostgreSQL's edges, and forms with any number of arguments."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.functions.evaluation.sql.casts import part_text
from risingpy.functions.evaluation.sql.text import joined_texts, own_call, quoted, raised
from risingpy.plan.expressions import Call, Literal
from risingpy.types import BYTEA, INTEGER, VARCHAR, TypeKind

_ESCAPE = "\\"
_PRIVATE = "chr(57344)"  # a character for private use
_MAX_BYTES = 2**30 - 1  # of a value, in PostgreSQL too
# Bytes of a result: 2,048 of them, which DuckDB makes at once, are no danger. What is larger must not even be an
# argument of DuckDB's functions, since of constants it computes every branch of a CASE beforehand.
_LARGE = 16_384
_TOO_LONG = raised("54000", quoted("requested length too large"), VARCHAR)


def _extreme(function: str, symbol: str) -> Callable[[Call, list[str]], str]:
    """greatest or least. Of intervals that compare as equal the first counts, which DuckDB's does not promise."""

    def compile_call(call: Call, args: list[str]) -> str:
        if call.type.kind is TypeKind.JSONB:
            return _extreme_json(function, args)
        if call.type.kind is not TypeKind.INTERVAL:
            return f"{function}({', '.join(args)})"
        chosen, *others = args
        for other in others:
            chosen = f"CASE WHEN {other} {symbol} {chosen} OR {chosen} IS NULL THEN {other} ELSE {chosen} END"
        return chosen

    return compile_call


def _extreme_json(function: str, args: list[str]) -> str:
    """By keys; of equal ones the first. DuckDB compares structs field by field, and passes over NULLs."""
    places = range(len(args)) if function == "least" else range(0, -len(args), -1)
    keyed = (
        f"CASE WHEN {arg} IS NOT NULL THEN {{k: {own_call('jsonb_key', [arg], BYTEA)}, i: {place}, v: {arg}}} END"
        for arg, place in zip(args, places, strict=True)
    )
    return f"struct_extract({function}({', '.join(keyed)}), 'v')"


def _in(call: Call, args: list[str]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _count_nulls(test: str) -> Callable[[Call, list[str]], str]:
    return lambda call, args: f"({' + '.join(f'CAST({arg} {test} AS INTEGER)' for arg in args)})"


def _concat(call: Call, args: list[str]) -> str:
    return f"concat({', '.join(_texts(call, args))})"


def _check_length(call: Call, args: list[str]) -> str:
    """A text on its way into varchar(n): too long is an error, unless only blanks are too many."""
    text, limit = args
    name = "character" if call.function == "check_character" else "character varying"
    message = f"concat('value too long for type {name}(', {limit}, ')')"
    too_long = raised("22001", message, VARCHAR)
    cut = f"WHEN length(rtrim({text}, ' ')) <= {limit} THEN left({text}, {limit})"
    return f"CASE WHEN coalesce(length({text}) <= {limit}, TRUE) THEN {text} {cut} ELSE {too_long} END"


def _concat_ws(call: Call, args: list[str]) -> str:
    return f"concat_ws({', '.join(_texts(call, args))})"


def _texts(call: Call, args: list[str]) -> list[str]:
    """The arguments' output forms: of a boolean, `t` and `f`."""
    return [part_text(text, value.type) for text, value in zip(args, call.args, strict=True)]


def _substring(call: Call, args: list[str]) -> str:
    """Positions before the first character count, and are empty."""
    text, start = args[0], f"CAST({args[1]} AS BIGINT)"
    first = f"CASE WHEN {start} < 1 THEN 1 ELSE {start} END"
    if len(args) == 2:
        return f"substr({text}, {first})"
    length = f"CAST({args[2]} AS BIGINT)"
    error = raised("22011", quoted("negative substring length not allowed"), VARCHAR)
    cut = f"substr({text}, {first}, greatest({start} + {length} - {first}, 0))"
    return (
        f"CASE WHEN {text} IS NULL OR {start} IS NULL OR {length} IS NULL THEN NULL"
        f" WHEN {length} < 0 THEN {error} ELSE {cut} END"
    )


def _upper(call: Call, args: list[str]) -> str:
    """DuckDB knows a capital ß, PostgreSQL's letters have one each."""
    kept = f"replace(upper(replace({args[0]}, 'ß', {_PRIVATE})), {_PRIVATE}, 'ß')"
    return f"CASE WHEN contains({args[0]}, 'ß') THEN {kept} ELSE upper({args[0]}) END"


def _initcap(call: Call, args: list[str]) -> str:
    words = f"regexp_extract_all({args[0]}, '[\\p{{L}}\\p{{N}}]+|[^\\p{{L}}\\p{{N}}]+')"
    first = _upper(call, ["left(word, 1)"])
    capitalized = f"list_transform({words}, lambda word: {first} || lower(substr(word, 2)))"
    return joined_texts(capitalized, "", empty=f"{args[0]} = ''")


def _right(call: Call, args: list[str]) -> str:
    """Without the smallest integer, whose negative is none: it leaves out everything, in PostgreSQL nothing."""
    return f"CASE WHEN {args[1]} = {-(2**31)} THEN {args[0]} ELSE right({args[0]}, {args[1]}) END"


def _trim(function: str) -> Callable[[Call, list[str]], str]:
    return lambda call, args: f"{function}({', '.join([*args, *([quoted(' ')] if len(args) == 1 else [])])})"


def _pad(function: str) -> Callable[[Call, list[str]], str]:
    def compile_pad(call: Call, args: list[str]) -> str:
        text, length, *rest = args
        fill = rest[0] if rest else quoted(" ")
        has_null = f"{text} IS NULL OR {length} IS NULL OR {fill} IS NULL"
        # DuckDB's functions refuse an empty fill.
        return (
            f"CASE WHEN {has_null} THEN NULL WHEN {length} > {_MAX_BYTES} THEN {_TOO_LONG}"
            f" WHEN {fill} = '' THEN left({text}, greatest({length}, 0))"
            f" WHEN {length} > {_LARGE} THEN {own_call('large_' + function, [text, length, fill], VARCHAR)}"
            f" ELSE {function}({text}, least({length}, {_LARGE}), {fill}) END"
        )

    return compile_pad


def _repeat(call: Call, args: list[str]) -> str:
    text, times = args
    size = f"CAST(strlen({text}) AS BIGINT) * {times}"
    large = own_call("large_repeat", [text, times], VARCHAR)
    return (
        f"CASE WHEN {size} > {_MAX_BYTES} THEN {_TOO_LONG} WHEN {size} > {_LARGE} THEN {large}"
        f" ELSE repeat({text}, CASE WHEN {size} <= {_LARGE} THEN {times} END) END"
    )


def _replaced(call: Call, args: list[str]) -> str:
    large = own_call("large_replace", args, VARCHAR)
    is_small = f"strlen({args[0]}) * strlen({args[2]}) <= {_LARGE}"
    small = f"replace(CASE WHEN {is_small} THEN {args[0]} END, {args[1]}, {args[2]})"
    return f"CASE WHEN {is_small} THEN {small} ELSE {large} END"


def _split_part(call: Call, args: list[str]) -> str:
    text, delimiter, field = args
    error = raised("22023", quoted("field position must not be zero"), VARCHAR)
    whole = f"CASE abs({field}) WHEN 1 THEN {text} ELSE '' END"
    return (
        f"CASE WHEN {field} = 0 AND {text} IS NOT NULL AND {delimiter} IS NOT NULL THEN {error}"
        f" WHEN {delimiter} = '' AND {text} IS NOT NULL AND {field} IS NOT NULL THEN {whole}"
        f" ELSE split_part({text}, {delimiter}, {field}) END"
    )


def _chr(call: Call, args: list[str]) -> str:
    error = raised("54000", quoted("null character not permitted"), VARCHAR)
    negative = raised("22023", quoted("character number must be positive"), VARCHAR)
    too_large = raised("54000", f"concat('requested character too large for encoding: ', {args[0]})", VARCHAR)
    return (
        f"CASE WHEN {args[0]} = 0 THEN {error} WHEN {args[0]} < 0 THEN {negative}"
        f" WHEN {args[0]} > 1114111 OR {args[0]} BETWEEN 55296 AND 57343 THEN {too_large}"
        f" ELSE chr({args[0]}) END"
    )


def _to_hex(call: Call, args: list[str]) -> str:
    """Negative numbers as two's complement of their width."""
    width = 8 if call.args[0].type == INTEGER else 16
    return f"lower(right(hex(CAST({args[0]} AS BIGINT)), {width}))"


def _overlay(call: Call, args: list[str]) -> str:
    text, other, start = args[0], args[1], f"CAST({args[2]} AS BIGINT)"
    length = args[3] if len(args) > 3 else f"length({other})"
    error = raised("22011", quoted("negative substring length not allowed"), VARCHAR)
    too_far = raised("22003", quoted("integer out of range"), VARCHAR)
    joined = f"left({text}, {start} - 1) || {other} || substr({text}, greatest({start} + {length}, 1))"
    has_null = " OR ".join(f"{arg} IS NULL" for arg in args)
    return (
        f"CASE WHEN {has_null} THEN NULL WHEN {start} <= 0 THEN {error}"
        f" WHEN {start} + {length} > {2**31 - 1} THEN {too_far} ELSE {joined} END"
    )


def _of_output(function: str) -> Callable[[Call, list[str]], str]:
    """A function of ours on the output forms of arguments of any type."""

    def compile_call(call: Call, args: list[str]) -> str:
        return own_call(function, _texts(call, args), VARCHAR)

    return compile_call


def _like(operator: str, *, negated: bool = False) -> Callable[[Call, list[str]], str]:
    """LIKE with PostgreSQL's default escape character, or the third argument's."""
    sign = "NOT " if negated else ""

    def compile_like(call: Call, args: list[str]) -> str:
        pattern = call.args[1]
        if len(args) == 3:
            return f"({args[0]} {sign}{operator} {args[1]} ESCAPE {args[2]})"
        # Without ESCAPE DuckDB can turn a pattern into a search for a prefix, a suffix or a part.
        if isinstance(pattern, Literal) and _ESCAPE not in str(pattern.value):
            return f"({args[0]} {sign}{operator} {args[1]})"
        return f"({args[0]} {sign}{operator} {args[1]} ESCAPE '{_ESCAPE}')"

    return compile_like


def _like_bytes(*, negated: bool) -> Callable[[Call, list[str]], str]:
    """LIKE of byte strings, byte by byte: as texts of characters with the bytes' numbers."""
    compare = _like("LIKE", negated=negated)

    def compile_like(call: Call, args: list[str]) -> str:
        return compare(call, [own_call("bytes_as_characters", [arg], VARCHAR) for arg in args])

    return compile_like


STRINGS: dict[str, Callable[[Call, list[str]], str]] = {
    "greatest": _extreme("greatest", ">"),
    "least": _extreme("least", "<"),
    "in": _in,
    "num_nulls": _count_nulls("IS NULL"),
    "num_nonnulls": _count_nulls("IS NOT NULL"),
    "concat": _concat,
    "concat_ws": _concat_ws,
    "overlay": _overlay,
    "format": _of_output("format"),
    "quote_literal_any": _of_output("quote_literal"),
    "quote_nullable_any": _of_output("quote_nullable"),
    "check_length": _check_length,
    "check_character": _check_length,
    "substring": _substring,
    "trim_both": _trim("trim"),
    "trim_leading": _trim("ltrim"),
    "trim_trailing": _trim("rtrim"),
    "upper": _upper,
    "initcap": _initcap,
    "right": _right,
    "repeat": _repeat,
    "replace": _replaced,
    "lpad": _pad("lpad"),
    "rpad": _pad("rpad"),
    "split_part": _split_part,
    "chr": _chr,
    "to_hex": _to_hex,
    "like": _like("LIKE"),
    "ilike": _like("ILIKE"),
    "like_bytes": _like_bytes(negated=False),
    "not_like_bytes": _like_bytes(negated=True),
    "not_like": _like("LIKE", negated=True),
    "not_ilike": _like("ILIKE", negated=True),
    "like_escape": _like("LIKE"),
    "ilike_escape": _like("ILIKE"),
    "not_like_escape": _like("LIKE", negated=True),
    "not_ilike_escape": _like("ILIKE", negated=True),
}
