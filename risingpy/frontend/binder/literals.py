"""Numbers as written (integer, bigint, or a numeric of just the digits there are), and texts of Unicode escapes."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

from risingpy.errors import NumericValueOutOfRange, SyntaxError_
from risingpy.executors.expression.nodes import Literal
from risingpy.types import BIGINT, DOUBLE, INTEGER, MAX_PRECISION, NUMERIC, numeric
from risingpy.types.wide_numeric import DECIMALS, WHOLE_DIGITS, to_bytes


def number_literal(text: str, position: int) -> Literal:
    """The literal that `text`, digits with perhaps a point and an exponent, stands for.

    Beyond 38 digits it is a plain numeric, and what that does not hold is double precision. Raises 22003 for what that
    does not hold either.
    """
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
        fits = number.adjusted() < WHOLE_DIGITS and scale <= DECIMALS
        return Literal(to_bytes(number), NUMERIC) if fits else _floating(text, position)
    number = number.quantize(Decimal(1).scaleb(-scale), context=Context(prec=MAX_PRECISION + 1))
    # Declared: a literal is shown with the zeros that it was written with.
    return Literal(number, numeric(max(precision, 1), scale, declared=True))


def _floating(text: str, position: int) -> Literal:
    value = float(text)
    if math.isinf(value):
        raise NumericValueOutOfRange("value overflows numeric format", position=position)
    return Literal(value, DOUBLE)


def unicode_text(text: str, escape: str, position: int) -> str:
    """What U&'text' UESCAPE 'escape' stands for. Raises 42601 for an escape that is none."""
    if len(escape) != 1 or escape in "+'\"" or escape.isspace() or escape in "0123456789abcdefABCDEF":
        raise SyntaxError_("invalid Unicode escape character", position=position)
    mark = re.escape(escape)

    def character(found: re.Match[str]) -> str:
        digits = found[1] or found[2]
        if digits is None:
            if found[0] == 2 * escape:
                return escape
            hint = "Unicode escapes must be \\XXXX or \\+XXXXXX."
            raise SyntaxError_("invalid Unicode escape", position=position, hint=hint)
        if not 0 < int(digits, 16) <= 0x10FFFF:
            raise SyntaxError_("invalid Unicode escape value", position=position)
        return chr(int(digits, 16))

    plain = re.sub(rf"{mark}(?:([0-9a-fA-F]{{4}})|\+([0-9a-fA-F]{{6}})|{mark}|)", character, text)
    try:
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SyntaxError_("invalid Unicode surrogate pair", position=position) from None
