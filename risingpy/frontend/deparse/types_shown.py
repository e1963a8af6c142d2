"""Which types PostgreSQL gives to operands, where it casts them without being asked, and how it prints constants."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from risingpy.frontend.deparse.nodes import Converted, Node, PrintedConstant
from risingpy.plan.expressions import Literal
from risingpy.sql_quoting import quoted_text
from risingpy.types import BIGINT, DOUBLE, INTEGER, NUMERIC, SMALLINT, VARCHAR, SqlType, TypeKind, array_of
from risingpy.types.forms import format_text
from risingpy.types.system_types import NAME, TEXT

_K = TypeKind
_INTEGERS = (SMALLINT, INTEGER, BIGINT)
_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ACROSS_INTEGERS = _COMPARED | {"+", "-", "*", "/"}
_TEXTS = _COMPARED | {"~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*"}


def plain(sql_type: SqlType) -> SqlType:
    """The type without length and precision."""
    if sql_type.kind is _K.NUMERIC:
        return NUMERIC
    if sql_type.kind is _K.ARRAY:
        return array_of(plain(sql_type.element))
    if sql_type.has_clock:
        return replace(sql_type, length=None)
    return VARCHAR if sql_type.kind is _K.VARCHAR and sql_type.system == "" else sql_type


def is_varchar(sql_type: SqlType) -> bool:
    """Whether PostgreSQL would call it character varying, which has no operators but those of text."""
    return sql_type.kind is _K.VARCHAR and sql_type.system == ""


def text_of(sql_type: SqlType) -> SqlType:
    """The type of a function's result: PostgreSQL's functions give text where ours give varchar."""
    if is_varchar(sql_type):
        return TEXT
    if sql_type.kind is _K.ARRAY:
        return array_of(text_of(sql_type.element))
    return sql_type


def of_literal(symbol: str, bound: SqlType, other: SqlType) -> SqlType:
    """The type of a literal beside an operand, which the binder took for `bound`: beside a name it is one."""
    return NAME if symbol in _COMPARED and other == NAME else bound


def operand_types(symbol: str, left: SqlType, right: SqlType) -> tuple[SqlType, SqlType]:
    """The types that the operator takes, given those of its operands, neither of which is unknown."""
    one, other = plain(left), plain(right)
    if symbol in _COMPARED and NAME in (one, other):  # which texts are compared with as it is
        return (TEXT if is_varchar(one) else one), (TEXT if is_varchar(other) else other)
    if symbol in _TEXTS and one == NAME:
        return NAME, TEXT
    if one.kind is _K.VARCHAR and other.kind is _K.VARCHAR:
        return TEXT, TEXT
    if symbol in _TEXTS and (one.kind is _K.VARCHAR or other.kind is _K.VARCHAR):
        return (TEXT if is_varchar(one) else one), (TEXT if is_varchar(other) else other)
    if symbol == "||":
        left, right = (TEXT if is_varchar(each) or each == NAME else each for each in (one, other))
        return left, right
    if not (one.is_numeric and other.is_numeric):
        return one, other
    if one.is_float and other.is_float:
        return one, other
    if one.is_float or other.is_float:
        return DOUBLE, DOUBLE
    if _K.NUMERIC in (one.kind, other.kind):
        return NUMERIC, NUMERIC
    if symbol == "^":
        return DOUBLE, DOUBLE
    if symbol in _ACROSS_INTEGERS:
        return one, other
    larger = max(one, other, key=_INTEGERS.index)
    return larger, larger


def cast(node: Node, given: SqlType, wanted: SqlType) -> Node:
    """The node as PostgreSQL casts it unasked, where the types differ."""
    one, other = plain(given), plain(wanted)
    if one == other or one.kind is _K.UNKNOWN:
        return node
    return Converted(node, other, implicit=True)


def constant(literal: Literal, given: SqlType) -> PrintedConstant:
    """A constant of a known type. `given`: its type as PostgreSQL has it, which tells text from varchar."""
    value = literal.value
    label = replace(plain(given), length=None)
    if value is None:
        return PrintedConstant("NULL", label)
    if isinstance(value, bool):
        return PrintedConstant("true" if value else "false")
    text = format_text(literal.type, value, time_zone="UTC")
    if given.kind is _K.INTEGER and text.isdigit():
        return PrintedConstant(text)
    if given.kind is _K.NUMERIC and text[:1].isdigit() and "e" not in text.lower():
        return PrintedConstant(text)
    return PrintedConstant(quoted_text(text), label)


def number(text: str) -> tuple[PrintedConstant, SqlType]:
    """A number as it is written, perhaps with its minus."""
    if text.lstrip("-").isdigit():
        value = int(text)
        if -(2**31) <= value < 2**31:
            return (PrintedConstant(text) if value >= 0 else PrintedConstant(quoted_text(text), INTEGER)), INTEGER
        if -(2**63) <= value < 2**63:
            return PrintedConstant(quoted_text(text), BIGINT), BIGINT
    shown = f"{Decimal(text):f}"
    if shown.startswith("-"):
        return PrintedConstant(quoted_text(shown), NUMERIC), NUMERIC
    return PrintedConstant(shown), NUMERIC
