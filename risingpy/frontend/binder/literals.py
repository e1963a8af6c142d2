"""Numbers as written: integer, bigint, or a numeric of just the digits there are."""

from __future__ import annotations

from decimal import Decimal

from risingpy.errors import NumericValueOutOfRange
from risingpy.executors.expression.nodes import Literal
from risingpy.types import BIGINT, INTEGER, MAX_PRECISION, numeric


def number_literal(text: str, position: int) -> Literal:
    """The literal that `text`, digits with perhaps a point and an exponent, stands for. Raises 22003."""
    if text.isdigit():
        value = int(text)
        if value < 1 << 31:
            return Literal(value, INTEGER)
        if value < 1 << 63:
            return Literal(value, BIGINT)
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    precision = max(number.adjusted() + 1, 0) + scale if number else scale + 1
    if precision > MAX_PRECISION:
        raise NumericValueOutOfRange("value overflows numeric format", position=position)
    number = number.quantize(Decimal(1).scaleb(-scale))
    # Declared: a literal is shown with the zeros that it was written with.
    return Literal(number, numeric(max(precision, 1), scale, declared=True))
