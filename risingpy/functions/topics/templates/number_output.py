"""to_char of numbers, as PostgreSQL 15's NUM_processor writes them. Row by row: every digit has its own rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from risingpy.errors import FeatureNotSupported, NumericValueOutOfRange
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.functions.topics.templates.number_templates import NumberTemplate, read_number_template
from risingpy.types.wide_numeric import to_decimal

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
_DOUBLE_DIGITS = 15
_REAL_DIGITS = 6
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"),
    (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ROMAN_WIDTH = 15
_ROMAN_LIMIT = 4000


def roman(number: int) -> str:
    """Capital letters, not padded; fifteen `#` for a number outside 1 to 3999, as PostgreSQL fills the field."""
    if not 1 <= number <= 3999:
        return "#" * _ROMAN_WIDTH
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _ordinal_ending(digits: str) -> str:
    """`st`, `nd`, `rd` or `th` for a number's last digits; 11 to 19 have `th`."""
    if digits[-2:-1] == "1":
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1:], "th")


class _NumberWriter:
    """Writes one number. `digits` is its absolute value as text, `spaces` how many digit places come before it."""

    def __init__(self, template: NumberTemplate, sign: str, digits: str, spaces: int, after: int) -> None:
        self.t = template
        self.sign = sign
        self.digits = digits
        self.spaces = spaces
        self.after = after
        self.at = 0  # of the next character of `digits`
        self.place = 0  # of the next digit of the template
        self.in_number = False
        self.out: list[str] = []
        self.sign_at = template.sign
        self.bracket = template.bracket
        self.zero_start = template.zero_start - 1 if template.zero_start else 0
        if template.plus or template.minus:
            self.signed = not (template.plus and not template.minus)
        else:
            if sign != "-" and not template.fill:
                self.bracket = False
            self.signed = sign == "+" and not template.fill and not template.sign
            if self.sign_at == "before" and template.before == template.digits_before_sign:
                self.sign_at = "after"
        self.count = after + template.before - 1
        self.last = self._last_relevant()
        if not self.signed and spaces == 0:
            self.count += 1

    def _last_relevant(self) -> int | None:
        """The position of the last digit to show with FM: beyond it are zeros only."""
        point = self.digits.find(".")
        if self.t.fill or not self.t.decimal or point < 0:
            return None
        last = max(point, len(self.digits.rstrip("0")) - 1)
        if self.t.zero_end > self.spaces:
            last = max(last, min(len(self.digits) - 1, self.t.zero_end - self.spaces))
        return last

    def write(self) -> str:
        for keyword, text in self.t.pieces:
            match keyword:
                case None:
                    self.out.append(text)
                case "9" | "0" | "." | "D":
                    self._digit(keyword)
                case "," | "G":
                    if self.in_number:
                        self.out.append(",")
                    elif self.t.fill:
                        self.out.append(" ")
                case "L":
                    self.out.append(" ")
                case "RN" | "rn":
                    shown = self.digits.rjust(_ROMAN_WIDTH) if self.t.fill else self.digits
                    self.out.append(shown.lower() if keyword == "rn" else shown)
                case "TH" | "th":
                    self._ordinal(keyword)
                case "MI" | "PL" | "SG":
                    self._sign_piece(keyword)
        return "".join(self.out)

    def _ordinal(self, keyword: str) -> None:
        if not (self.t.roman or self.digits.startswith("#") or self.sign == "-" or self.t.decimal):
            ending = _ordinal_ending(self.digits)
            self.out.append(ending.upper() if keyword == "TH" else ending)

    def _sign_piece(self, keyword: str) -> None:
        if keyword == "SG" or self.sign == {"MI": "-", "PL": "+"}[keyword]:
            self.out.append(self.sign)
        elif self.t.fill:
            self.out.append(" ")

    def _leads_with_blank(self) -> bool:
        """Whether the digit is the 0 before the point, which 9.9 shows as a blank."""
        return not self.t.zero and self.at == 0 and self.digits.startswith("0") and self.after != 0

    def _ends_at_point(self) -> bool:
        return self.last is not None and self.digits[self.last] == "."

    def _digit(self, keyword: str) -> None:
        if self.t.roman:
            return
        self.in_number = False
        begins = self.place >= self.spaces or (self.t.zero and self.zero_start == self.place)
        if not self.signed and begins and (not self._leads_with_blank() or self._ends_at_point()):
            self._leading_sign()
        if self.place < self.spaces and (self.zero_start > self.place or not self.t.zero):
            if self.t.fill:
                self.out.append(" ")
        elif self.t.zero and self.place < self.spaces and self.zero_start <= self.place:
            self.out.append("0")
            self.in_number = True
        else:
            self._own_digit(keyword)
        self._trailing_sign()
        self.place += 1

    def _leading_sign(self) -> None:
        if self.t.sign:
            if self.sign_at == "before":
                self.out.append(self.sign)
                self.signed = True
        elif self.bracket:
            self.out.append(" " if self.sign == "+" else "<")
            self.signed = True
        else:
            if self.sign == "-":
                self.out.append("-")
            elif self.t.fill:
                self.out.append(" ")
            self.signed = True

    def _own_digit(self, keyword: str) -> None:
        char = self.digits[self.at : self.at + 1]
        if char == ".":
            if self.last is None or not self._ends_at_point() or not self.t.fill:
                self.out.append(".")
        elif self.last is not None and self.at > self.last and keyword != "0":
            pass
        elif self._leads_with_blank():
            if self.t.fill:
                self.out.append(" ")
            elif self._ends_at_point():
                self.out.append("0")
        else:
            self.out.append(char)
            self.in_number = True
        self.at += bool(char)

    def _trailing_sign(self) -> None:
        end = self.count + (1 if self.spaces else 0) + (1 if self.t.decimal else 0)
        if self.last is not None and self.last == self.at:
            end = self.place
        if self.place + 1 != end:
            return
        if self.signed and self.bracket:
            self.out.append(" " if self.sign == "+" else ">")
        elif self.t.sign and self.sign_at == "after":
            self.out.append(self.sign)


def _write(t: NumberTemplate, text: str, after: int) -> str:
    """Writes the number whose plain text, rounded to `after` decimals, is `text`."""
    sign = "-" if text.startswith("-") else "+"
    digits = text.removeprefix("-")
    before = t.before + t.multiplied
    length = len(digits.split(".")[0])
    if length > before:
        digits = "#" * before + "." + "#" * after
    widened = replace(t, before=before) if t.multiplied else t
    return _NumberWriter(widened, sign, digits, max(0, before - length), after).write()


def _roman_text(t: NumberTemplate, number: int) -> str:
    if not -(2**31) <= number < 2**31:
        raise NumericValueOutOfRange("integer out of range")
    return _NumberWriter(t, "+", roman(number), 0, 0).write()


def _scientific(text: str) -> str:
    return text if text.startswith("-") else " " + text


def _of_special(t: NumberTemplate, value: Decimal) -> str:
    """NaN and the infinities, as PostgreSQL writes them: as a text of so many digits."""
    if t.roman:
        what = "NaN" if value.is_nan() else "infinity"
        raise FeatureNotSupported(f"cannot convert {what} to integer")
    if t.scientific:
        return " " + "#" * t.before + "." + "#" * (t.after + 4)
    return _write(t, str(value), t.after)


def _numeric_writer(template: str) -> Callable[[Decimal], str]:
    t = read_number_template(template)

    def one(value: Decimal) -> str:
        if not value.is_finite():
            return _of_special(t, value)
        if t.roman:
            return _roman_text(t, int(value.to_integral_value(ROUND_HALF_UP)))
        if t.scientific:
            power = value.adjusted() if value else 0
            mantissa = value.scaleb(-power, _EXACT).quantize(Decimal(1).scaleb(-t.after), context=_EXACT)
            return _scientific(f"{mantissa:f}e{power:+03d}")
        scaled = value.scaleb(t.multiplied, _EXACT) if t.multi else value
        rounded = scaled.quantize(Decimal(1).scaleb(-t.after), context=_EXACT)
        text = f"{rounded:f}"
        return _write(t, text if rounded else text.removeprefix("-"), t.after)

    return one


def _of_numeric(template: str) -> Compute:
    return by_row(_numeric_writer(template), pa.string())


def _of_wide(template: str) -> Compute:
    write = _numeric_writer(template)
    return by_row(lambda value: write(to_decimal(value)), pa.string())


def _of_integer(template: str) -> Compute:
    t = read_number_template(template)

    def one(value: int) -> str:
        if t.roman:
            return _roman_text(t, value)
        if t.scientific:
            return _scientific(f"{float(value):.{t.after}e}")
        scaled = value * 10**t.multiplied if t.multi else value
        if not -(2**63) <= scaled < 2**63:
            raise NumericValueOutOfRange("bigint out of range")
        return _write(t, f"{scaled}.{'0' * t.after}" if t.after else str(scaled), t.after)

    return by_row(one, pa.string())


def _plain(value: float, decimals: int) -> str:
    if math.isfinite(value):
        return f"{value:.{decimals}f}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _of_float(digits: int) -> Callable[[str], Compute]:
    def prepared(template: str) -> Compute:
        t = read_number_template(template)

        def one(value: float) -> str:
            if t.roman:
                return _roman_text(t, round(value) if abs(value) < _ROMAN_LIMIT else 0)
            if t.scientific:
                if not math.isfinite(value):
                    return " " + "#" * (t.before + 1 - 1) + "." + "#" * (t.after + 4)
                return _scientific(f"{value:.{t.after}e}")
            scaled = value * 10.0**t.multiplied if t.multi else value
            whole = len(_plain(abs(scaled), 0))
            after = 0 if whole >= digits else min(t.after, digits - whole)
            return _write(t, _plain(scaled, after), after)

        memory: dict[str, str] = {}

        def once(value: float) -> str:
            key = repr(value)  # tells -0 from 0, and NaN equals NaN
            if key not in memory:
                if len(memory) > 10_000:
                    memory.clear()
                memory[key] = one(value)
            return memory[key]

        return lambda column: pa.array([once(value) for value in column.to_pylist()], pa.string())

    return prepared


NUMBER_OUTPUT: dict[str, Function] = {
    "to_char_numeric": Function(per_constant(_of_numeric, [1])),
    "wide_to_char_numeric": Function(per_constant(_of_wide, [1])),
    "to_char_integer": Function(per_constant(_of_integer, [1])),
    "to_char_real": Function(per_constant(_of_float(_REAL_DIGITS), [1])),
    "to_char_double": Function(per_constant(_of_float(_DOUBLE_DIGITS), [1])),
}
