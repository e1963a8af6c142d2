"""to_number: reads a text by a template, as PostgreSQL 15's NUM_numpart_from_char does."""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.functions.topics.templates.number_templates import NumberTemplate, read_number_template

_EXACT = Context(prec=200)
_POWER_DECIMALS = 16
_DATA = "0123456789.,+-"


class _NumberReader:
    """Reads one text. `at` is the next character, `sign` what was read of one."""

    def __init__(self, template: NumberTemplate, text: str) -> None:
        self.t = template
        self.text = text
        self.at = 0
        self.sign = ""
        self.digits = ""
        self.decimals: str | None = None  # None before the decimal point

    def read(self) -> Decimal:
        for keyword, _ in self.t.pieces:
            if self.at >= len(self.text):
                break
            if keyword is None:
                self.at += 1
            else:
                passed = self._piece(keyword)  # which moves `at` itself
                self.at += passed
        if not self.digits and not self.decimals:
            raise InvalidTextRepresentation(f'invalid input syntax for type numeric: "{self.sign or " "}"')
        if len(self.digits.lstrip("0")) > self.t.before + self.t.multiplied:
            raise NumericValueOutOfRange("numeric field overflow")
        value = Decimal(f"{self.sign}{self.digits or '0'}.{self.decimals or ''}")
        if not self.t.multi:
            return value
        # PostgreSQL multiplies by a power of ten, of which it has 16 decimals.
        scale = len(self.decimals or "") + _POWER_DECIMALS
        return value.scaleb(-self.t.multiplied, _EXACT).quantize(Decimal(1).scaleb(-scale), context=_EXACT)

    def _char(self, offset: int = 0) -> str:
        return self.text[self.at + offset : self.at + offset + 1]

    def _piece(self, keyword: str) -> int:
        """How many characters to go on after what the piece has read."""
        match keyword:
            case "9" | "0" | "." | "D":
                self._number_part(keyword)
                return 1
            case ",":
                return int(self.t.fill and self._char() == ",")
            case "G":
                return int(self._char() == ",")
            case "L" | "TH" | "th":
                self._eat(1 if keyword == "L" else 2)
            case "MI" | "PL" | "SG":
                wanted = {"MI": "-", "PL": "+"}.get(keyword, "-+")
                if self._char() in wanted:
                    self.sign = self._char()
                    return 1
                self._eat(1)
        return 0

    def _eat(self, count: int) -> None:
        while count and self.at < len(self.text) and self._char() not in _DATA:
            self.at += 1
            count -= 1

    def _started(self) -> bool:
        return bool(self.digits or self.decimals)

    def _number_part(self, keyword: str) -> None:
        if self._char() == " ":
            self.at += 1
        if not self.sign and keyword in "90" and not self._started():
            self._leading_sign()
        read = self._digit()
        if self.at < len(self.text) and not self.sign and self._started():
            self._trailing_sign(read)

    def _leading_sign(self) -> None:
        char = self._char()
        if not char or (char not in "+-" and not (char == "<" and self.t.bracket)):
            return
        self.sign = "+" if char == "+" else "-"
        self.at += 1

    def _digit(self) -> bool:
        char = self._char()
        if char.isdigit() and char.isascii():
            if self.decimals is None:
                self.digits += char
            elif len(self.decimals) == self.t.after:
                return False
            else:
                self.decimals += char
            return True
        if char == "." and self.t.decimal and self.decimals is None:
            self.decimals = ""
            return True
        return False

    def _trailing_sign(self, read: bool) -> None:
        following = self._char(1)
        if self.t.sign:
            if read and following and following in "+-":
                self.at += 1
                self.sign = following
        elif not read and (self.t.plus or self.t.minus) and self._char() in "+-":
            self.sign = self._char()


def _to_number(template: str) -> Compute:
    t = read_number_template(template)
    for unreadable, word in ((t.roman, "RN"), (t.scientific, "EEEE")):
        if unreadable:
            raise SqlError(f'"{word}" not supported for input', sqlstate="0A000")
    return by_row(lambda text: f"{_NumberReader(t, text).read():f}", pa.string())


NUMBER_INPUT: dict[str, Function] = {"to_number": Function(per_constant(_to_number, [1]))}
