"""Expressions, with PostgreSQL's precedence and with the position of every operator.

From the loosest: OR · AND · NOT · IS · comparison (not associative) · BETWEEN IN LIKE ILIKE (not associative) · all
other operators · + - · * / % · ^ · AT TIME ZONE · COLLATE · unary + - · :: and []. Source: PostgreSQL 15's gram.y.
sqlglot's own methods of these names are lax (it takes what many dialects write) and lose positions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.risingwave import RisingWaveParser
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.frontend.parser.keywords import RESERVED, SYMBOLS
from risingpy.frontend.parser.literals.literal_list import LITERALS, LiteralList
from risingpy.frontend.parser.literals.plain_constants import ENDS, NUMBER, constant_operand, whole_constant
from risingpy.frontend.parser.parser_tools import START, TYPE_TEXT, cast_as_a_whole, check_terms
from risingpy.frontend.parser.strict_lists import StrictLists
from risingpy.sql_quoting import double_quoted

_COMPARISON: dict[TokenType, type[exp.Binary]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
_LIKE: dict[TokenType, type[exp.Expr]] = {
    TokenType.LIKE: exp.Like,
    TokenType.ILIKE: exp.ILike,
    TokenType.SIMILAR_TO: exp.SimilarTo,
}
_OTHER: dict[TokenType, type[exp.Expr]] = {
    TokenType.DPIPE: exp.DPipe,
    TokenType.AMP: exp.BitwiseAnd,
    TokenType.PIPE: exp.BitwiseOr,
    TokenType.HASH: exp.BitwiseXor,
    TokenType.RLIKE: exp.RegexpLike,
    TokenType.IRLIKE: exp.RegexpILike,
}
_SHIFT = {TokenType.LT: exp.BitwiseLeftShift, TokenType.GT: exp.BitwiseRightShift}
_TERM: dict[TokenType, type[exp.Expr]] = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub}
_FACTOR: dict[TokenType, type[exp.Expr]] = {TokenType.STAR: exp.Mul, TokenType.SLASH: exp.Div, TokenType.MOD: exp.Mod}
_POWER: dict[TokenType, type[exp.Expr]] = {TokenType.CARET: exp.Pow}
_BOOLEAN_TESTS = {"TRUE": exp.true, "FALSE": exp.false}
_PREDICATES = (TokenType.BETWEEN, TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.SIMILAR_TO)
# Operators of arrays, JSON and the like, which sqlglot parses for the binder to name in its refusal.
_EXOTIC = RisingWaveParser.RANGE_PARSERS.keys() - {TokenType.FOR, TokenType.GLOB, TokenType.IS, *_OTHER, *_PREDICATES}
_NORMAL_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_PREFIXES = (("|", "/"), ("||", "/"), ("@",), ("~",), ("!", "!"))
_BEGIN_PREFIX = frozenset(pieces[0] for pieces in _PREFIXES)
_NEGATED: dict[TokenType, str] = {
    TokenType.LIKE: "!~~",
    TokenType.ILIKE: "!~~*",
    TokenType.RLIKE: "!~",
    TokenType.IRLIKE: "!~*",
}


class UnaryPlus(exp.Unary):
    """`+ x`, which sqlglot would drop."""


class Operator(exp.Expression):
    """An operator that sqlglot has no node for: `this` is the symbol, `expressions` the operands."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}


class ExpressionParser(StrictLists):
    """sqlglot's parser with its expression levels replaced."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "ANY": RisingWaveParser.NO_PAREN_FUNCTION_PARSERS["ANY"],
        "CASE": lambda self: self._parse_case(),
        **{
            name.upper(): lambda self: self._parse_niladic()
            for name in (
                *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
                *("current_user", "current_role", "session_user", "user", "current_catalog", "current_schema"),
            )
        },
    }
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        "CAST": lambda self: self._parse_cast(True),
        "TRY_CAST": lambda self: self._parse_cast(False),
        "EXTRACT": lambda self: self._parse_extract_call(),
        "OVERLAY": lambda self: self._parse_overlay_call(),
        "NORMALIZE": lambda self: self._parse_normalize_call(),
        "POSITION": lambda self: self._parse_position_call(),
        "SUBSTRING": lambda self: self._parse_substring_call(),
        "TRIM": lambda self: self._parse_trim_call(),
    }
    TYPE_LITERAL_PARSERS: ClassVar[dict[Any, Any]] = {}
    # `->` is an operator, no lambda; `=>` and `:=` name an argument.
    _named: ClassVar[Any] = RisingWaveParser.LAMBDAS[TokenType.FARROW]
    LAMBDAS: ClassVar[dict[Any, Any]] = {TokenType.FARROW: _named, TokenType.COLON_EQ: _named}

    # -- the levels of precedence ---------------------------------------------------------------------------------

    def _parse_assignment(self) -> exp.Expr | None:
        return self._parse_disjunction()

    def _parse_disjunction(self) -> exp.Expr | None:
        token = self._curr
        constant = whole_constant(token, self._next)
        if constant is not None:
            return self._taken(constant, token)
        return self._left_associative({TokenType.OR: exp.Or}, self._parse_conjunction)

    def _parse_conjunction(self) -> exp.Expr | None:
        return self._left_associative({TokenType.AND: exp.And}, self._parse_equality)

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        token = self._curr
        if token.token_type is TokenType.NOT and token.text != "!":
            self._advance()
            return self._at(exp.Not(this=self._needed(self._parse_equality)), token)
        return self._parse_is_tests(self._parse_comparison())

    def _parse_is_tests(self, this: exp.Expr | None) -> exp.Expr | None:
        while this is not None:
            token = self._curr
            if self._match(TokenType.ISNULL):
                this = self._at(exp.Is(this=this, expression=exp.Null()), token)
            elif self._match(TokenType.NOTNULL):
                this = self._at(exp.Not(this=self._at(exp.Is(this=this, expression=exp.Null()), token)), token)
            elif self._match(TokenType.IS):
                this = self._parse_is_test(this, token)
            else:
                break
            this = self._cast_if_asked(this)
        return this

    def _cast_if_asked(self, this: exp.Expr) -> exp.Expr:
        """What ends in a keyword or a parenthesis is cast as a whole: `x IS NULL::int` is `(x IS NULL)::int`."""
        return self._needed(lambda: self._parse_column_ops(this)) if self._curr.token_type is TokenType.DCOLON else this

    def _parse_is_test(self, this: exp.Expr, token: Token) -> exp.Expr:
        negated = self._match(TokenType.NOT)
        if self._match_text_seq("DISTINCT", "FROM"):
            right = self._needed(self._parse_bitwise)
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return self._at(kind(this=this, expression=right), token)
        if self._match(TokenType.NULL):
            test: exp.Expr = exp.Is(this=this, expression=exp.Null())
        elif self._curr.text.upper() in _NORMAL_FORMS and self._next.text.upper() == "NORMALIZED":
            form = self._curr.text
            self._advance(2)
            test = exp.Anonymous(this="is_normalized", expressions=[this, exp.Literal.string(form)])
        elif self._match_text_seq("NORMALIZED"):
            test = exp.Anonymous(this="is_normalized", expressions=[this, exp.Literal.string("NFC")])
        elif self._match_text_seq("JSON"):
            test = self._parse_is_json(this)
        elif self._match_text_seq("UNKNOWN"):
            test = exp.Is(this=this, expression=exp.var("UNKNOWN"))
        elif self._curr.text.upper() in _BOOLEAN_TESTS:
            test = exp.Is(this=this, expression=_BOOLEAN_TESTS[self._curr.text.upper()]())
            self._advance()
        else:
            self.raise_error("NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM expected")
        self._at(test, token)
        return self._at(exp.Not(this=test), token) if negated else test

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        left = this or self._parse_range()
        token = self._curr
        if left is None or token.token_type not in _COMPARISON:
            return left
        self._advance()
        right = self._needed(self._parse_range)
        if self._curr.token_type in _COMPARISON:
            self.raise_error("comparisons do not associate")
        return cast_as_a_whole(self._at(_COMPARISON[token.token_type](this=left, expression=right), token))

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        left = this or self._parse_bitwise()
        while left is not None:
            token = self._curr
            negated = token.token_type is TokenType.NOT and self._next.token_type in _PREDICATES
            kind = self._next.token_type if negated else token.token_type
            if kind not in _PREDICATES:
                if kind not in _EXOTIC:
                    break
                self._advance()
                left = self._at(self.RANGE_PARSERS[kind](self, left), token)
                continue
            self._advance(2 if negated else 1)
            left = self._parse_predicate(left, kind, token)
            if negated and kind in _NEGATED and not isinstance(left, exp.Escape):  # an operator of its own, for ANY
                left = self._at(Operator(this=_NEGATED[kind], expressions=[left.this, left.expression]), token)
            elif negated:
                left = self._at(exp.Not(this=left), token)
            left = self._cast_if_asked(left) if kind is TokenType.IN else left
        return left

    def _parse_predicate(self, left: exp.Expr, kind: TokenType, token: Token) -> exp.Expr:
        if kind is TokenType.BETWEEN:
            symmetric = self._match_text_seq("SYMMETRIC")
            self._match_text_seq("ASYMMETRIC")
            low = self._needed(self._parse_bitwise)
            self._expect(TokenType.AND)
            high = self._needed(self._parse_bitwise)
            return self._at(exp.Between(this=left, low=low, high=high, symmetric=symmetric or None), token)
        if kind is TokenType.IN:
            if self._curr.token_type is not TokenType.L_PAREN:
                self.raise_error("( expected")
            if self._next.token_type is LITERALS:
                items = self._at(LiteralList(this=self._next.text), self._next)
                self._advance(2)
                self._expect(TokenType.R_PAREN)
                return self._at(exp.In(this=left, expressions=[items]), token)
            test = self._parse_in(left)
            if not test.args.get("query") and not test.expressions:
                self.raise_error("expression expected")
            return self._at(test, token)
        right = self._needed(self._parse_bitwise)
        node = cast_as_a_whole(self._at(_LIKE[kind](this=left, expression=right), token))
        if self._match(TokenType.ESCAPE):
            return self._at(exp.Escape(this=node, expression=self._needed(self._parse_bitwise)), token)
        return node

    def _parse_bitwise(self) -> exp.Expr | None:
        left, terms = self._parse_prefixed(), 0
        while left is not None:
            terms += 1
            check_terms(terms)
            token = self._curr
            following = self._next
            adjacent = following.start == token.end + 1
            if token.token_type in _OTHER:
                self._advance()
                left = _OTHER[token.token_type](this=left, expression=self._needed(self._parse_prefixed))
            elif token.token_type in _SHIFT and following.token_type is token.token_type and adjacent:
                self._advance(2)
                left = _SHIFT[token.token_type](this=left, expression=self._needed(self._parse_prefixed))
            elif token.text in SYMBOLS:
                self._advance()
                left = Operator(this=token.text, expressions=[left, self._needed(self._parse_prefixed)])
            elif token.text == "!" and following.token_type in _NEGATED and adjacent:
                self._advance(2)
                right = self._needed(self._parse_prefixed)
                left = Operator(this=_NEGATED[following.token_type], expressions=[left, right])
            else:
                break
            self._at(left, token)
        return left

    def _parse_prefixed(self) -> exp.Expr | None:
        """An operand of the other operators, which may begin with a prefix operator."""
        return self._parse_prefix() or self._parse_term()

    def _parse_prefix(self) -> exp.Expr | None:
        """A prefix operator. It takes what binds tighter, wherever it stands: `a - |/ b * c` is `a - |/ (b * c)`."""
        if self._curr.text not in _BEGIN_PREFIX:
            return None
        for pieces in _PREFIXES:
            tokens = self._tokens[self._index : self._index + len(pieces)]
            adjoining = all(right.start == left.end + 1 for left, right in pairwise(tokens))
            if tuple(token.text for token in tokens) == pieces and adjoining:
                self._advance(len(pieces))
                operand = self._needed(self._parse_prefixed)
                return self._at(Operator(this="".join(pieces), expressions=[operand]), tokens[0])
        return None

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        return self._left_associative(_TERM, self._parse_factor)

    def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
        return self._left_associative(_FACTOR, self._parse_exponent)

    def _parse_exponent(self) -> exp.Expr | None:
        return self._left_associative(_POWER, self._parse_zoned)

    def _parse_zoned(self) -> exp.Expr | None:
        this = self._parse_collated()
        while this is not None:
            token = self._curr
            if not self._match_text_seq("AT", "TIME", "ZONE"):
                break
            this = self._at(exp.AtTimeZone(this=this, zone=self._needed(self._parse_collated)), token)
        return this

    def _parse_collated(self) -> exp.Expr | None:
        this = self._parse_unary()
        token = self._curr
        if this is not None and self._match(TokenType.COLLATE):
            this = self._at(exp.Collate(this=this, expression=self._needed(self._parse_column)), token)
        return this

    def _parse_unary(self) -> exp.Expr | None:
        token = self._curr
        match token.token_type:
            case TokenType.DASH:
                self._advance()
                return self._at(exp.Neg(this=self._needed(self._parse_unary)), token)
            case TokenType.PLUS:
                self._advance()
                return self._at(UnaryPlus(this=self._needed(self._parse_unary)), token)
            case _:
                constant = constant_operand(token, self._next)
                if constant is not None:
                    return self._taken(constant, token)
                this = self._parse_prefix() or self._parse_type()
                return None if this is None else self._at(this, token, only_if_missing=True)

    def _parse_type(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """`DATE 'x'::text` is `(DATE 'x')::text`: sqlglot takes what follows the literal for a part of it."""
        start = self._curr.start
        typed = self._parse_named() or super()._parse_type(*args, **kwargs)
        if not isinstance(typed, exp.Cast) or isinstance(typed.this, exp.Literal):
            return typed
        if typed.args["to"].meta.get(START) != start:  # the type does not stand in front
            return typed
        around = literal = typed.this
        while not isinstance(literal, exp.Literal) and isinstance(literal.this, exp.Expr):
            literal = literal.this
        if not isinstance(literal, exp.Literal):
            return typed
        cast = exp.Cast(this=literal.copy(), to=typed.args["to"])
        cast.meta[START] = start
        literal.replace(cast)
        outer: exp.Expr = around.pop()
        return outer

    # -- primaries ------------------------------------------------------------------------------------------------

    def _parse_primary(self) -> exp.Expr | None:
        token = self._curr
        index = self._index
        primary = super()._parse_primary()
        if isinstance(primary, exp.Literal) and not primary.is_string and not NUMBER.fullmatch(str(primary.this)):
            self._retreat(index)
            self.raise_error("number expected")
        return None if primary is None else self._at(primary, token, only_if_missing=True)

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        if self._curr.token_type in ENDS:
            return this
        token = self._next
        is_word = token.token_type is not TokenType.STRING and (token.text[:1].isalpha() or token.text[:1] == "_")
        is_name = token.token_type is TokenType.IDENTIFIER or is_word
        at_end = self._index + 1 >= self._tokens_size
        if this is None or self._curr.token_type is not TokenType.ALIAS or not is_name or at_end:
            return super()._parse_alias(this, explicit)
        self._advance(2)  # after AS any word is a name, reserved ones too
        name = exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER)
        return exp.Alias(this=this, alias=self._at(name, token))

    def _parse_atom(self) -> exp.Expr | None:
        token = self._curr
        if token.token_type is TokenType.NUMBER and not NUMBER.fullmatch(token.text):
            self.raise_error("number expected")
        atom = super()._parse_atom()
        return None if atom is None else self._at(atom, token, only_if_missing=True)

    def _parse_id_var(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        return None if self._is_reserved() else super()._parse_id_var(*args, **kwargs)

    def _parse_column_parts_fast(self) -> exp.Column | exp.Dot | None:
        return None if self._is_reserved() else super()._parse_column_parts_fast()

    def _is_reserved(self) -> bool:
        token = self._curr
        if token.token_type is TokenType.IDENTIFIER or self._prev.token_type in (TokenType.DOT, TokenType.ALIAS):
            return False
        if token.text.upper() == "GROUPS" and self._tokens[max(self._index - 2, 0)].token_type is TokenType.OVER:
            return True  # `OVER (GROUPS …`: a frame, no window's name
        if token.text.upper() == "EMIT" and self._next.text.upper() in ("ON", "IMMEDIATELY"):
            return True  # the end of a materialized view's query, no alias
        return token.text.lower() in RESERVED

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        first = self._index
        token = self._curr
        kind = super()._parse_types(*args, **kwargs)
        while kind is not None and self._index > first:
            kind.meta[TYPE_TEXT] = " ".join(_as_written(t) for t in self._tokens[first : self._index])
            self._at(kind, token)
            if not self._match_pair(TokenType.L_BRACKET, TokenType.R_BRACKET):  # as in `oid[]`
                break
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        return kind

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        token = self._curr
        node = super()._parse_column_ops(self._parse_bracket(this))
        if node is not None and node is not this and token.token_type is TokenType.DCOLON:
            self._at(node, token)
        return node


def _as_written(token: Token) -> str:
    return double_quoted(token.text) if token.token_type is TokenType.IDENTIFIER else token.text
