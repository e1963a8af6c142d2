"""Functions on text that DuckDB lacks, or whose characters are not code points there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.functions.topics.texts.keywords import QUOTED_KEYWORDS
from risingpy.functions.topics.texts.unicode_escapes import decode, escapes
from risingpy.sql_quoting import double_quoted, quoted_text
from risingpy.statement_limits import look
from risingpy.types.far_moments import values_of

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")
_UNICODE_ESCAPES = escapes("\\", "u([0-9a-fA-F]{4})", "U([0-9a-fA-F]{8})")
_NORMAL_FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def quote_ident(name: str) -> str:
    """PostgreSQL's quote_ident: in quotes unless it is a plain lower-case name and no keyword that needs them."""
    if _PLAIN_NAME.fullmatch(name) and name not in QUOTED_KEYWORDS:
        return name
    return double_quoted(name)


def quote_literal(text: str) -> str:
    """PostgreSQL's quote_literal: quotes and backslashes doubled, `E` before a text with backslashes."""
    quoted = quoted_text(text.replace("\\", "\\\\"))
    return "E" + quoted if "\\" in text else quoted


def _quote_literals(texts: pa.Array) -> pa.Array:
    doubled = pc.replace_substring(pc.replace_substring(texts, "'", "''"), "\\", "\\\\")
    prefix = pc.if_else(pc.match_substring(texts, "\\"), "E'", "'")
    return pc.binary_join_element_wise(prefix, doubled, "'", "")


def _quote_nullable(texts: pa.Array) -> pa.Array:
    return pc.fill_null(_quote_literals(texts), "NULL")


def _digits(base: str, bits: int) -> Compute:
    return by_row(lambda number: format(number & (1 << bits) - 1, base), pa.string())


def _normal_form(form: str) -> str:
    upper = form.upper()
    if upper not in _NORMAL_FORMS:
        raise SqlError(f"invalid normalization form: {form}", sqlstate="22023")
    return upper


def _normalize(form: str) -> Compute:
    name = _normal_form(form)
    return lambda texts: pc.utf8_normalize(texts, form=name)


def _is_normalized(form: str) -> Compute:
    name = _normal_form(form)
    return lambda texts: pc.equal(pc.utf8_normalize(texts, form=name), texts)


def _to_ascii(texts: pa.Array) -> pa.Array:
    """Letters without their accents; what then is no ASCII character is a question mark."""
    parts = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKD"), r"\p{Mn}", "")
    return pc.replace_substring_regex(parts, r"[^\x00-\x7f]", "?")


def _unistr(text: str) -> str:
    return decode(text, _UNICODE_ESCAPES, r"\XXXX, \+XXXXXX, \uXXXX, or \UXXXXXXXX")


_SPECIFIER = re.compile(r"%(?:(%)|(?:(\d+)\$)?(-*)(?:(\d+)|(\*)(?:(\d+)\$)?)?(.)?)", re.DOTALL)


class _Formatting:
    """One call of format(): which argument comes next."""

    def __init__(self, arguments: tuple[str | None, ...]) -> None:
        self.arguments = arguments
        self.next = 0

    def argument(self, number: str | None) -> str | None:
        if number is not None:
            if int(number) == 0:
                message = "format specifies argument 0, but arguments are numbered from 1"
                raise SqlError(message, sqlstate="22023")
            self.next = int(number) - 1
        if self.next >= len(self.arguments):
            raise SqlError("too few arguments for format()", sqlstate="22023")
        self.next += 1
        return self.arguments[self.next - 1]

    def piece(self, found: re.Match[str]) -> str:
        percent, number, minus, width, star, star_number, kind = found.groups()
        if percent:
            return "%"
        size = int(width or 0)
        if star:
            size = self._width(star_number)
        if kind is None:
            hint = 'For a single "%" use "%%".'
            raise SqlError("unterminated format() type specifier", sqlstate="22023", hint=hint)
        if kind not in "sIL":
            hint = 'For a single "%" use "%%".'
            raise SqlError(f'unrecognized format() type specifier "{kind}"', sqlstate="22023", hint=hint)
        text = self._converted(self.argument(number), kind)
        left = bool(minus) or size < 0
        return text.ljust(abs(size)) if left else text.rjust(abs(size))

    def _width(self, number: str | None) -> int:
        given = self.argument(number)
        try:
            return 0 if given is None else int(given)
        except ValueError:
            message = f'invalid input syntax for type integer: "{given}"'
            raise SqlError(message, sqlstate="22P02") from None

    def _converted(self, value: str | None, kind: str) -> str:
        if kind == "L":
            return "NULL" if value is None else quote_literal(value)
        if kind == "I":
            if value is None:
                raise SqlError("null values cannot be formatted as an SQL identifier", sqlstate="22004")
            return quote_ident(value)
        return value or ""


def _format(template: str | None, *arguments: str | None) -> str | None:
    if template is None:
        return None
    return _SPECIFIER.sub(_Formatting(arguments).piece, template)


def _format_arrays(templates: pa.Array, arrays: pa.Array) -> pa.Array:
    """format() whose arguments are the elements of an array; a NULL array has none."""
    values = []
    for template, arguments in zip(values_of(templates), arrays.to_pylist(), strict=True):
        look()
        values.append(_format(template, *(arguments or ())))
    return pa.array(values, pa.string())


def _of_text(one: Callable[..., object]) -> Function:
    return Function(by_row(one, pa.string()))


TEXT: dict[str, Function] = {
    "reverse": Function(pc.utf8_reverse),
    "quote_ident": _of_text(quote_ident),
    "quote_literal": Function(_quote_literals),
    "quote_nullable": Function(_quote_nullable, takes_nulls=True),
    "to_bin_int4": Function(_digits("b", 32)),
    "to_bin_int8": Function(_digits("b", 64)),
    "to_oct_int4": Function(_digits("o", 32)),
    "to_oct_int8": Function(_digits("o", 64)),
    "normalize": Function(per_constant(_normalize, [1])),
    "is_normalized": Function(per_constant(_is_normalized, [1])),
    "to_ascii": Function(_to_ascii),
    "unistr": _of_text(_unistr),
    "format": Function(by_row(_format, pa.string()), takes_nulls=True),
    "format_array": Function(_format_arrays, takes_nulls=True),
}
