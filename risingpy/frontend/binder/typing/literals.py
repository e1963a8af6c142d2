"""Numbers as written (integer, bigint, or a numeric of just the digits there are), and texts of Unicode escapes."""

from __future__ import annotations

import math
from decimal import Context, Decimal

from sqlglot import exp

from risingpy.errors import NumericValueOutOfRange
from risingpy.plan.expressions import Literal
from risingpy.types import BIGINT, DOUBLE, INTEGER, MAX_PRECISION, NUMERIC, numeric
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS, to_bytes


def number_literal(text: str, position: int) -> Literal:
    """The literal that `text`, perhaps a minus, digits, perhaps a point and an exponent, stands for.

    Beyond 38 digits it is a plain numeric, and what that does not hold is double precision. Raises 22003 for what that
    does not hold either.
    """
    if text.removeprefix("-").isdigit():
        value = int(text)
        if -1 << 31 <= value < 1 << 31:
            return Literal(value, INTEGER)
        if -1 << 63 <= value < 1 << 63:
            return Literal(value, BIGINT)
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(number.adjusted() + 1, 0) + scale if number else scale + 1
    if precision > MAX_PRECISION:
        fits = number.adjusted() < WHOLE_DIGITS and scale <= DECIMALS
        return Literal(to_bytes(number), NUMERIC) if fits else _floating(text, position)
    number = number.quantize(Decimal(1).scaleb(-scale), context=Context(prec=MAX_PRECISION + 1))
    return Literal(number, numeric(max(precision, 1), scale))


def written_number(tree: exp.Expr) -> str | None:
    """A written number with its minus signs, of which its type depends; None if the tree is none."""
    minus = False
    while isinstance(tree, exp.Neg | exp.Paren):
        minus ^= isinstance(tree, exp.Neg)
        tree = tree.this
    if not isinstance(tree, exp.Literal) or tree.is_string:
        return None
    zero = not str(tree.this).upper().partition("E")[0].strip("0.")
    return f"-{tree.this}" if minus and not zero else str(tree.this)


def _floating(text: str, position: int) -> Literal:
    value = float(text)
    if math.isinf(value):
        raise NumericValueOutOfRange("value overflows numeric format", position=position)
    return Literal(value, DOUBLE)
