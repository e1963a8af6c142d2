"""What has a syntax of its own: EXTRACT, POSITION, SUBSTRING, TRIM, functions without parentheses, and INTERVAL.

All but EXTRACT become plain calls of PostgreSQL's functions: `TRIM(LEADING 'x' FROM a)` is `ltrim(a, 'x')`.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from risingpy.frontend.parser.calls.aggregate_forms import of_all_values, without_nulls
from risingpy.frontend.parser.interval_fields import RANGES
from risingpy.frontend.parser.parser_tools import ParserTools

DIGITS = "digits"  # meta key of an INTERVAL with the digits of its seconds: `INTERVAL '1.25' SECOND(1)`
SPELLING = "spelling"  # meta key of a call that was written in such a syntax: its first words


def _spelled(name: str, args: list[exp.Expr], words: str) -> exp.Anonymous:
    call = exp.Anonymous(this=name, expressions=args)
    call.meta[SPELLING] = words
    return call


class FunctionParser(ParserTools):
    """The methods that `ExpressionParser`'s tables name."""

    def _parse_niladic(self) -> exp.Expr:
        token = self._prev
        call = exp.Anonymous(this=token.text)
        if self._match(TokenType.L_PAREN):
            call.set("expressions", self._parse_csv(self._parse_disjunction))
            self._match_r_paren()
        else:
            call.meta[SPELLING] = token.text.upper()
        return self._at(call, token)

    def _parse_extract_call(self) -> exp.Expr:
        field = self._curr
        if not (field.text[:1].isalpha() or field.token_type is TokenType.STRING) or self._index >= self._tokens_size:
            self.raise_error("field expected")
        self._advance()
        self._expect(TokenType.FROM)
        name = exp.var(field.text.lower())
        return exp.Extract(this=self._at(name, field), expression=self._needed(self._parse_disjunction))

    def _parse_position_call(self) -> exp.Expr:
        needle = self._needed(self._parse_bitwise)
        if self._match(TokenType.COMMA):  # as a function: position(text, needle)
            return exp.Anonymous(this="position", expressions=[needle, self._needed(self._parse_disjunction)])
        self._expect(TokenType.IN)
        return _spelled("position", [self._needed(self._parse_bitwise), needle], "POSITION")

    def _parse_substring_call(self) -> exp.Expr:
        args = self._parse_csv(self._parse_disjunction)
        if len(args) != 1:
            return exp.Anonymous(this="substring", expressions=args)
        if self._match_text_seq("SIMILAR"):
            pattern = self._needed(self._parse_disjunction)
            self._expect(TokenType.ESCAPE)
            escape = self._needed(self._parse_disjunction)
            return exp.Anonymous(this="substring", expressions=[*args, pattern, escape])
        start: exp.Expr | None = None
        length: exp.Expr | None = None
        while start is None or length is None:
            if start is None and self._match(TokenType.FROM):
                start = self._needed(self._parse_disjunction)
            elif length is None and self._match(TokenType.FOR):
                length = self._needed(self._parse_disjunction)
            else:
                break
        if length is not None and start is None:
            start = exp.Literal.number(1)
        return _spelled("substring", [*args, *(a for a in (start, length) if a is not None)], "SUBSTRING")

    def _parse_overlay_call(self) -> exp.Expr:
        args = self._parse_csv(self._parse_disjunction)
        if len(args) == 1 and self._match_text_seq("PLACING"):
            args.append(self._needed(self._parse_disjunction))
            self._expect(TokenType.FROM)
            args.append(self._needed(self._parse_disjunction))
            if self._match(TokenType.FOR):
                args.append(self._needed(self._parse_disjunction))
            return _spelled("overlay", args, "OVERLAY")
        return exp.Anonymous(this="overlay", expressions=args)

    def _parse_normalize_call(self) -> exp.Expr:
        args = [self._needed(self._parse_disjunction)]
        form = "NFC"
        if self._match(TokenType.COMMA):
            form = self._curr.text
            self._advance()
        return exp.Anonymous(this="normalize", expressions=[*args, exp.Literal.string(form)])

    def _parse_trim_call(self) -> exp.Expr:
        names = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "btrim"}
        word = self._curr.text.upper()
        name = names.get(word)
        if name is not None:
            self._advance()
        args = [] if self._match(TokenType.FROM) else self._parse_csv(self._parse_disjunction)
        if len(args) == 1 and self._match(TokenType.FROM):
            args = [*self._parse_csv(self._parse_disjunction), *args]
        elif not args:
            args = self._parse_csv(self._parse_disjunction)
        return _spelled(name or "btrim", args, f"TRIM({'BOTH' if name is None else word}")

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """What follows a call: WITHIN GROUP, FILTER and OVER. IGNORE NULLS of an aggregate becomes a FILTER."""
        made = super()._parse_window(this, alias)
        return made if alias or made is None or isinstance(made, exp.Window) else without_nulls(made)

    def _parse_collected(self) -> exp.Expr | None:
        """`AGGREGATE:f(x)`, without blanks: RisingWave's way to say f of all values of x."""
        token, colon = self._curr, self._next
        is_prefix = token.text.upper() == "AGGREGATE" and colon.token_type is TokenType.COLON
        name = self._tokens[min(self._index + 2, self._tokens_size - 1)]
        if not is_prefix or colon.start != token.end + 1 or name.start != colon.end + 1:
            return None
        self._advance(2)
        return of_all_values(self._needed(self._parse_function))

    def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Interval | None:
        token = self._curr
        if token.token_type is not TokenType.INTERVAL or self._next.token_type is not TokenType.STRING:
            return None
        self._advance(2)
        interval = exp.Interval(this=self._at(exp.Literal.string(self._prev.text), self._prev))
        if self._curr.token_type is TokenType.VAR and self._curr.text.upper() in self.dialect.VALID_INTERVAL_UNITS:
            unit = self._curr.text.upper()
            self._advance()
            fields = f"{unit} {self._curr.text} {self._next.text}".upper()
            if fields.lower() in RANGES:
                unit = fields
                self._advance(2)
            interval.set("unit", exp.var(unit))
            if unit.endswith("SECOND") and self._match(TokenType.L_PAREN):
                digits = self._parse_number()
                if digits is None or not digits.name.isdigit():
                    self.raise_error("number of digits expected")
                else:
                    interval.meta[DIGITS] = int(digits.name)
                self._expect(TokenType.R_PAREN)
        return self._at(interval, token)
