"""Arrays, maps and their subscripts: ARRAY[…], MAP {…}, a[1], a[2:3]; lambdas, |x| x + 1; and TRY_CAST, IS JSON.

sqlglot reads other dialects' brackets too (lists without ARRAY, structs in braces) and counts subscripts from 0.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from risingpy.frontend.parser.function_parser import FunctionParser
from risingpy.frontend.parser.parser_tools import START, TYPE_TEXT

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)
_TIME_ZONE = ("WITH", "WITHOUT", "TIME", "ZONE")
_AFTER_TYPES = (*_TIME_ZONE, "PRECISION", "VARYING")  # the words of a type after its first one
_MOST_OF_TYPE = 12  # tokens: `timestamp(3) with time zone array`
_ARRAY_WORD = TokenType.BLOCK_START  # the ARRAY behind a type; the tokenizer gives no such token
_LITERALS = (
    *(TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING),
    *(TokenType.NATIONAL_STRING, TokenType.BYTE_STRING, TokenType.UNICODE_STRING),
)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_AFTER_NAMES = (TokenType.STRING, TokenType.DOT, TokenType.COLON)
_WITHOUT_LENGTH = MappingProxyType({"char": "bpchar", "character": "bpchar", "bit": "varbit"})
_JSON_KINDS = ("VALUE", "ARRAY", "OBJECT", "SCALAR")


class Subscript(exp.Expression):
    """`this[index]`, or with `slice` `this[lower:upper]`, where either bound may be missing."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "index": False,
        "slice": False,
        "lower": False,
        "upper": False,
    }


class MapConstructor(exp.Expression):
    """`MAP {key: value, …}`: `expressions` are keys and values in turn."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": False}


class LambdaExpression(exp.Expression):
    """`|a, b| this`: `expressions` are the names between the bars."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}


class CurrentOf(exp.Expression):
    """WHERE CURRENT OF cursor, of UPDATE and DELETE; `this` is the cursor's name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Variadic(exp.Expression):
    """`VARIADIC this`, the last argument of a call: an array whose elements are arguments."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class NestedParser(FunctionParser):
    """The methods for what stands in brackets and braces."""

    # sqlglot would go on for ever at a bracket that `_parse_bracket` leaves where it is.
    BRACKETS: ClassVar[frozenset[TokenType]] = frozenset()

    def _parse_types(self, check_func: bool = False, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """A type. Where it may be a call or an array, sqlglot would read all of that twice, at every level of it."""
        if check_func and self._next.token_type in _OPENING and not self._is_typed_literal():
            return None
        if self._curr.token_type in self.TYPE_TOKENS:
            self._hide_array()
        word = self._curr.text.upper()
        if word == "STRUCT" and self._next.token_type in (TokenType.NEQ, TokenType.LT):
            nothing = ("STRUCT", "<>") if self._next.token_type is TokenType.NEQ else ("STRUCT", "<", ">")
            if self._match_text_seq(*nothing):  # a row without fields
                return exp.DataType(this=exp.DType.STRUCT, nested=True)
        kind = super()._parse_types(check_func, *args, **kwargs)
        if kind is not None and word == "BIT" and self._match_text_seq("VARYING") and self._match(TokenType.L_PAREN):
            self._parse_csv(self._parse_primary)  # `type_names` reads the length in the text
            self._match_r_paren()
        if kind is not None and self._match(_ARRAY_WORD):  # `integer ARRAY`, `integer ARRAY[3]`
            if self._match(TokenType.L_BRACKET) and not (
                self._match(TokenType.NUMBER) and self._match(TokenType.R_BRACKET)
            ):
                self.raise_error("number of elements expected")
            kind = exp.DataType(this=exp.DType.ARRAY, expressions=[kind], nested=True)
        return kind

    def _parse_type(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """`char 'abc'` is all of the text, as in PostgreSQL; a column of that type has one character."""
        start = self._curr.start
        typed = super()._parse_type(*args, **kwargs)
        if isinstance(typed, exp.Cast) and isinstance(typed.this, exp.Literal):
            kind = typed.args["to"].meta
            text = str(kind.get(TYPE_TEXT)).lower()
            if kind.get(START) == start and text in _WITHOUT_LENGTH:
                kind[TYPE_TEXT] = _WITHOUT_LENGTH[text]
        return typed

    def _parse_named(self) -> exp.Expr | None:
        """What a name begins that is neither a column nor a call."""
        if self._curr.token_type not in _NAMES or self._next.token_type not in _AFTER_NAMES:
            return None
        made = self._parse_named_literal() or self._parse_collected()
        return None if made is None else self._parse_column_ops(made)

    def _parse_named_literal(self) -> exp.Expr | None:
        """`mood 'ok'`, `s.mood 'ok'`: a text after any type's name. sqlglot knows the names of its own types only."""
        token, index = self._curr, self._index
        while index + 1 < self._tokens_size and self._is_part_of_name(index):
            index += 1
            if self._tokens[index].token_type is TokenType.STRING:
                kind = self._needed(lambda: self._parse_types())
                return self._at(exp.Cast(this=self._needed(self._parse_primary), to=kind), token)
            if self._tokens[index].token_type is not TokenType.DOT:
                return None
            index += 1
        return None

    def _is_part_of_name(self, index: int) -> bool:
        """Whether a type's name may have the token: sqlglot has tokens of its own for types that it knows."""
        kind = self._tokens[index].token_type
        return kind in _NAMES or (index > self._index and kind in self.TYPE_TOKENS)

    def _parse_struct_types(self, type_required: bool = False) -> exp.Expr | None:
        """`name type` of a struct<…>. sqlglot takes the name for the type before a type that a user has created."""
        if self._curr.token_type not in self.TYPE_TOKENS and self._next.token_type in _NAMES:
            name = self._parse_id_var()
            return self.expression(exp.ColumnDef(this=name, kind=self._parse_types()))
        return super()._parse_struct_types(type_required)

    def _hide_array(self) -> None:
        """Marks the ARRAY after the type that begins here: sqlglot would read what follows it as an expression."""
        index, depth = self._index + 1, 0
        for token in self._tokens[index : index + _MOST_OF_TYPE]:
            if not depth and token.token_type is TokenType.ARRAY:
                token.token_type = _ARRAY_WORD
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            is_modifier = depth > 0 or token.token_type is TokenType.R_PAREN
            if depth < 0 or not (is_modifier or token.text.upper() in _AFTER_TYPES):
                return

    def _is_typed_literal(self) -> bool:
        """Whether a literal follows what may be a type's parameters: `varchar(3) 'abc'`, `int[] '{1}'`.

        A type's parameters hold no brackets: the search ends at the first, else a nest of calls would be read again
        at every level of it.
        """
        index, depth = self._index + 1, 0
        while index < self._tokens_size:
            token = self._tokens[index]
            depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
            index += 1
            if depth > 1:
                return False
            if depth <= 0 and token.token_type not in _CLOSING and token.text.upper() not in _TIME_ZONE:
                return token.token_type in _LITERALS
        return False

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        while this is not None:
            token = self._curr
            word = this.name.upper() if isinstance(this, exp.Column) and not this.args.get("table") else ""
            if word == "MAP" and self._match(TokenType.L_BRACE):
                this = self._at(self._map_entries(), token)
            elif word == "ARRAY" and self._match(TokenType.L_BRACKET):
                this = self._at(self._array_items(), token)
            elif self._match(TokenType.L_BRACKET):
                this = self._at(self._subscript(this), token)
            else:
                break
        return this

    def _array_items(self) -> exp.Array:
        """What follows ARRAY[. In it, ARRAY may be left out."""
        items: list[exp.Expr] = []
        if not self._match(TokenType.R_BRACKET):
            while True:
                token = self._curr
                inner = self._match(TokenType.L_BRACKET)
                items.append(self._at(self._array_items(), token) if inner else self._needed(self._parse_disjunction))
                if not self._match(TokenType.COMMA):
                    break
            self._expect(TokenType.R_BRACKET)
        return exp.Array(expressions=items)

    def _map_entries(self) -> MapConstructor:
        parts: list[exp.Expr] = []
        if not self._match(TokenType.R_BRACE):
            while True:
                parts.append(self._needed(self._parse_disjunction))
                self._expect(TokenType.COLON)
                parts.append(self._needed(self._parse_disjunction))
                if not self._match(TokenType.COMMA):
                    break
            self._expect(TokenType.R_BRACE)
        return MapConstructor(expressions=parts)

    def _subscript(self, this: exp.Expr) -> Subscript:
        lower = None if self._curr.token_type is TokenType.COLON else self._needed(self._parse_disjunction)
        if not self._match(TokenType.COLON):
            self._expect(TokenType.R_BRACKET)
            return Subscript(this=this, index=lower)
        upper = None if self._curr.token_type is TokenType.R_BRACKET else self._needed(self._parse_disjunction)
        self._expect(TokenType.R_BRACKET)
        return Subscript(this=this, slice=True, lower=lower, upper=upper)

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        """An argument of a function. A bar at its beginning is a lambda's, unless it is of `|/ a`, the square root."""
        token = self._curr
        if token.token_type is TokenType.VARIADIC:
            self._advance()
            has_name = self._next.token_type in (TokenType.FARROW, TokenType.COLON_EQ)
            read = super()._parse_lambda if has_name else self._parse_disjunction
            return self._at(Variadic(this=self._needed(read)), token)
        if token.token_type is not TokenType.PIPE or self._next.token_type is TokenType.SLASH:
            return super()._parse_lambda(alias)
        self._advance()
        names = self._parse_csv(self._parse_id_var)
        self._expect(TokenType.PIPE)
        body = self._needed(self._parse_disjunction)
        return self._at(LambdaExpression(this=body, expressions=names), token)

    def _parse_is_json(self, this: exp.Expr) -> exp.Is:
        """What follows IS [NOT] JSON."""
        kind = "VALUE"
        if self._curr.text.upper() in _JSON_KINDS:
            kind = self._curr.text.upper()
            self._advance()
        return exp.Is(this=this, expression=exp.var(f"JSON {kind}"))
