"""A cursor over a statement's tokens: the words of utility statements, and sqlglot for the queries inside."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NoReturn, TypeVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import Check, FeatureNotSupported, SyntaxError_, unchecked
from risingpy.frontend.parser.ast import (
    ColumnName,
    Expression,
    InnerStatement,
    ObjectName,
    Query,
    TableItems,
    TypeName,
)
from risingpy.frontend.parser.ast_parts import FieldStep, SubscriptStep, TargetColumn
from risingpy.frontend.parser.dialect import END_OF_QUERY, QueryParser, RisingPyDialect
from risingpy.frontend.parser.keywords import RESERVED
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.sql_quoting import double_quoted, quoted_text

T = TypeVar("T")

STRINGS = (TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)
_NO_WORDS = (*STRINGS, TokenType.IDENTIFIER, TokenType.NUMBER)
_DIALECT = RisingPyDialect()


class Cursor:
    """Reads one statement. `accept` takes words if they come next; `expect` insists; the rest read one thing each."""

    def __init__(self, tokens: list[Token], sql: str, check: Check = unchecked) -> None:
        self._sql = sql
        self._parser = QueryParser(dialect=_DIALECT)
        self._parser.start(tokens, sql, check)

    @property
    def at_end(self) -> bool:
        return self._parser._index >= self._parser._tokens_size

    @property
    def position(self) -> int:
        """Of the next token, in characters from 1."""
        return (self._parser._prev.end + 2) if self.at_end else self._parser._curr.start + 1

    @property
    def end(self) -> int:
        """The position after the last token that was taken, in characters from 1."""
        return self._parser._prev.end + 2

    @property
    def word(self) -> str:
        """The next token in upper case; empty at the end and for strings and quoted names."""
        token = self._parser._curr
        return "" if self.at_end or token.token_type in _NO_WORDS else token.text.upper()

    def peek(self, count: int) -> list[str]:
        """The next tokens in upper case, without taking them; strings and quoted names as written, so never words."""
        parser = self._parser
        found = parser._tokens[parser._index : parser._index + count]
        return [_as_word(token) for token in found]

    def has_word(self, word: str) -> bool:
        """Whether the word, in upper case, is among the tokens that are left."""
        parser = self._parser
        left = parser._tokens[parser._index :]
        return any(token.text.upper() == word and token.token_type not in _NO_WORDS for token in left)

    def ends_with(self, *words: str) -> bool:
        """Whether these are the last tokens of the statement."""
        last = self._parser._tokens[-len(words) :]
        return [token.text.upper() for token in last if token.token_type not in _NO_WORDS] == [*words]

    def accept(self, *words: str) -> bool:
        """Takes `words` (in upper case) if all of them come next."""
        start = self._parser._index
        for word in words:
            if self.word != word:
                self._parser._retreat(start)
                return False
            self._parser._advance()
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                self.fail()

    def one_of(self, *words: str) -> str:
        """The word that comes next, which must be one of these."""
        word = self.word
        if word not in words:
            self.fail()
        self._parser._advance()
        return word

    def fail(self) -> NoReturn:
        """Syntax error at the next token."""
        self._parser.raise_error("unexpected")
        raise AssertionError("raise_error returns never")

    def fail_with(self, message: str, position: int) -> NoReturn:
        """Syntax error that says more than "at or near"."""
        raise SyntaxError_(message, position=position)

    def unsupported(self, what: str, *, hint: str | None = None) -> NoReturn:
        raise FeatureNotSupported(f"{what} is not supported", position=self.position, hint=hint)

    def finish(self) -> None:
        """The statement must end here."""
        if not self.at_end:
            self.fail()

    def any_word(self) -> str:
        """Whatever word comes next, a quoted one too, folded."""
        token = self._parser._curr
        quoted = token.token_type in (TokenType.IDENTIFIER, *STRINGS)
        if self.at_end or not (quoted or token.text[:1].isalpha() or token.text[:1] == "_"):
            self.fail()
        self._parser._advance()
        return token.text if quoted else token.text.lower()

    def name(self) -> ColumnName:
        """An identifier."""
        token = self._parser._curr
        quoted = token.token_type is TokenType.IDENTIFIER
        begins_word = token.text[:1].isalpha() or token.text[:1] == "_"
        if self.at_end or token.token_type in STRINGS or not (quoted or begins_word):
            self.fail()
        if not quoted and token.text.lower() in RESERVED:
            self.fail()
        self._parser._advance()
        return ColumnName(token.text if quoted else fold(token.text), token.start + 1)

    def object_name(self) -> ObjectName:
        """`name`, `schema.name` or `database.schema.name`."""
        first = self.name()
        parts = [first.name]
        while self.accept("."):
            parts.append(self.any_word())
        if len(parts) > 3:
            shown = ".".join(parts)
            self.fail_with(f"improper qualified name (too many dotted names): {shown}", first.position)
        database, schema, name = [None, None, *parts][-3:]
        assert name is not None
        return ObjectName(name, schema, first.position, database)

    def target_column(self) -> TargetColumn:
        """A column to assign to, or a part of one: `c`, `c[1]`, `c[2:3]`, `c.field`."""
        column = self.name()
        steps: list[FieldStep | SubscriptStep] = []
        while True:
            position = self.position
            if self.accept("."):
                steps.append(FieldStep(self.any_word(), position))
            elif self.accept("["):
                steps.append(SubscriptStep(self._parser._subscript(exp.Null()), position))
            else:
                return TargetColumn(column.name, column.position, tuple(steps))

    def string(self) -> str:
        token = self._parser._curr
        if self.at_end or token.token_type not in STRINGS:
            self.fail()
        self._parser._advance()
        return token.text

    def value(self) -> str:
        """A setting's or an option's value: a string, a number or a word, as text."""
        token = self._parser._curr
        if self.at_end or token.token_type in (TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA):
            self.fail()
        self._parser._advance()
        if token.text in ("-", "+") and self._parser._curr.token_type is TokenType.NUMBER:
            self._parser._advance()
            return token.text.removeprefix("+") + self._parser._prev.text
        return token.text

    def comma_separated(self, read: Callable[[], T]) -> tuple[T, ...]:
        items = [read()]
        while self.accept(","):
            items.append(read())
        return tuple(items)

    def in_parentheses(self, read: Callable[[], T]) -> tuple[T, ...]:
        self.expect("(")
        items = self.comma_separated(read)
        self.expect(")")
        return items

    def type_name(self) -> TypeName:
        position = self.position
        tree = self._parser._parse_types()
        if tree is None:
            self.fail()
        return TypeName(str(tree.meta[TYPE_TEXT]), position)

    def rest(self) -> InnerStatement:
        """All that is left, which is another statement, unread."""
        position, parser = self.position, self._parser
        end = parser._tokens[-1].end + 1
        parser._advance(parser._tokens_size - parser._index)
        return InnerStatement(self._sql[position - 1 : end], position)

    def until_end(self) -> InnerStatement:
        """All up to the END after the last semicolon, which it takes, too: statements, unread."""
        tokens = self._parser._tokens[self._parser._index :]
        words = [";", *map(_as_word, tokens)]
        ends = [place for place, pair in enumerate(pairwise(words)) if pair == (";", "END")]
        self._parser._advance(ends[-1] + 1 if ends else len(tokens))
        if not ends:
            raise SyntaxError_("syntax error at end of input", position=self.position)
        kept = [place for place, word in enumerate(words[1 : ends[-1] + 1]) if word != ";"]
        if not kept:
            return InnerStatement("", tokens[0].start + 1)
        begin, end = tokens[kept[0]].start, tokens[kept[-1]].end + 1
        return InnerStatement(self._sql[begin:end], begin + 1)

    def parts(self, *words: str) -> tuple[InnerStatement, ...]:
        """All that is left: statements that each begin with one of the words, unread; none if another one comes next.

        The words are reserved, so that they stand nowhere else, but for the GRANT of WITH GRANT OPTION, and for the
        rights that a GRANT lists before its ON.
        """
        tokens = self._parser._tokens[self._parser._index :]
        found = [_as_word(token) for token in tokens]
        begins, lists_rights = list[int](), False
        for i, word in enumerate(found):
            lists_rights = lists_rights and word != "ON"
            if word in words and not lists_rights and (not i or found[i - 1] != "WITH"):
                begins.append(i)
                lists_rights = word == "GRANT"
        if not begins or begins[0]:
            return ()
        self._parser._advance(len(tokens))
        return tuple(
            InnerStatement(self._sql[tokens[i].start : tokens[j - 1].end + 1], tokens[i].start + 1)
            for i, j in pairwise([*begins, len(tokens)])
        )

    def query(self, *, before: tuple[str, str] | None = None) -> Query:
        """A query. It ends at the words `before` outside of parentheses, if they come there."""
        if before is not None:
            self._end_query_at(before)
        tree, text, position = self._tree(self._parser.parse_query)
        return Query(tree, text, position)

    def _end_query_at(self, words: tuple[str, str]) -> None:
        """Marks the first of the words: sqlglot would read the ON of `NATURAL JOIN t ON CONFLICT` as the join's."""
        if words[1].lower() not in self._sql.lower():
            return
        depth = 0
        for token, following in pairwise(self._parser._tokens[self._parser._index :]):
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            if depth < 0:  # the end of the WITH in which the statement stands
                return
            if not depth and (token.text.upper(), following.text.upper()) == words:
                token.token_type = END_OF_QUERY

    def table_items(self) -> TableItems:
        """The items of a FROM or USING, after that word."""
        first = self._parser._parse_table()
        if first is None:
            self.fail()
        return TableItems(first, tuple(iter(self._parser._parse_join, None)))

    def word_after_with(self) -> str:
        """What follows the common table expressions that begin here, in upper case, without taking anything."""
        depth, closed = 0, False
        for token in self._parser._tokens[self._parser._index :]:
            if closed and token.text.upper() not in (",", "AS"):
                return token.text.upper()
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            closed = not depth and token.token_type is TokenType.R_PAREN
        return ""

    def may_write_within(self, parse: Callable[[], exp.Expr | None]) -> None:
        """From here on a WITH may have statements that write: `parse` takes one, if one comes next."""
        self._parser.parse_write = parse

    def common_tables(self) -> exp.With:
        """WITH and its common table expressions."""
        tree = self._parser._parse_with()
        if tree is None:
            self.fail()
        return tree

    def expression(self) -> Expression:
        return Expression(*self._tree(self._parser._parse_disjunction))

    def default_expression(self) -> Expression:
        """What may follow DEFAULT: no AND, OR, NOT or IS outside of parentheses, so that NOT NULL can come next."""
        return Expression(*self._tree(self._parser._parse_comparison))

    def generation_expression(self) -> Expression:
        """What may follow AS of a generated column: in parentheses, which PostgreSQL demands, or as DEFAULT's."""
        return without_parentheses(self.default_expression())

    def result_item(self) -> Expression:
        """An item of a RETURNING list."""
        return Expression(*self._tree(self._parser._parse_expression))

    def _tree(self, parse: Callable[[], exp.Expr | None]) -> tuple[exp.Expr, str, int]:
        position = self.position
        tree = parse()
        if tree is None:
            self.fail()
        return tree, self._sql[position - 1 : self._parser._prev.end + 1], position


def _as_word(token: Token) -> str:
    if token.token_type is TokenType.IDENTIFIER:
        return double_quoted(token.text)
    return quoted_text(token.text) if token.token_type in STRINGS else token.text.upper()


def fold(name: str) -> str:
    """An unquoted identifier's name: ASCII letters in lower case, as PostgreSQL with a UTF-8 database."""
    return "".join(c.lower() if c.isascii() else c for c in name)


def without_parentheses(found: Expression) -> Expression:
    """What stands in the parentheses around all of an expression: catalogs print their own pair."""
    while isinstance(found.tree, exp.Paren):
        inside = found.text[1:-1]
        left = len(inside) - len(inside.lstrip())
        found = Expression(found.tree.this, inside.strip(), found.position + 1 + left)
    return found
