"""WITH: queries and statements that have names; SEARCH and CYCLE, RisingWave's `name AS changelog FROM t`, and
Materialize's WITH MUTUALLY RECURSIVE.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.expression_parser import ExpressionParser

CHANGELOG = "changelog"  # meta key of a CTE that is written `name AS changelog FROM table`


class SearchClause(exp.Expression):
    """`SEARCH DEPTH FIRST BY expressions SET this`, or BREADTH."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True, "breadth": False}


class CycleClause(exp.Expression):
    """`CYCLE expressions SET this [TO to DEFAULT default] USING using`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expressions": True,
        "to": False,
        "default": False,
        "using": False,
    }


class MutuallyRecursive(exp.Expression):
    """The `recursive` of WITH MUTUALLY RECURSIVE: after `limit` rounds an error, or with `returns` the rows so far."""

    arg_types: ClassVar[dict[str, bool]] = {"limit": False, "returns": False}


class WithParser(ExpressionParser):
    """The methods for whole queries, their WITH, and names behind words."""

    parse_write: Callable[[], exp.Expr | None] | None = None
    """Takes a statement that writes, where the statement around may have such in its WITH, if one comes next."""

    def parse_query(self) -> exp.Expr:
        """SELECT, VALUES, WITH, TABLE or a parenthesized query, with set operations, ORDER BY and LIMIT."""
        if self._curr.token_type is TokenType.L_PAREN:
            tree = self._parse_set_operations(self._parse_paren())
        else:
            tree = self._parse_select()
        query: exp.Expr | None = self._parse_query_modifiers(tree)
        if not isinstance(query, exp.Query | exp.Values):
            self.raise_error("query expected")
        assert query is not None
        return query

    def _parse_statement(self) -> exp.Expr | None:
        # sqlglot asks for statements inside of WITH: queries, or what writes.
        token, word = self._curr, self._curr.text.upper()
        if self.parse_write is not None:
            written = self.parse_write()
            if written is not None:
                return self._at(written, token)
        if word in ("INSERT", "UPDATE", "DELETE", "MERGE"):
            message = f"{word} inside of this WITH is not supported"
            hint = "Run it as a statement of its own, in the same transaction."
            raise FeatureNotSupported(message, position=token.start + 1, hint=hint)
        stands_after_with = self._prev.token_type is not TokenType.L_PAREN
        query = self.parse_query()
        if isinstance(query, exp.Values) and stands_after_with:  # sqlglot's Values has no WITH
            query = self._at(exp.select(exp.Star()).from_(exp.Subquery(this=query)), token)
        return query

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        index = self._index
        if (skip_with_token or self._match(TokenType.WITH)) and self._match_text_seq("MUTUALLY", "RECURSIVE"):
            recursive = MutuallyRecursive()
            if self._match(TokenType.L_PAREN):
                recursive.set("returns", self._match_text_seq("RETURN", "AT"))
                if not recursive.args["returns"]:
                    self._match_text_seq("ERROR", "AT")
                self._expect_words("RECURSION", "LIMIT")
                recursive.set("limit", self._parse_number())
                self._match_r_paren()
            return self.expression(exp.With(expressions=self._parse_csv(self._parse_cte), recursive=recursive))
        self._retreat(index)
        return super()._parse_with(skip_with_token)

    def _parse_cte(self) -> Any:
        """RisingWave's `name AS changelog FROM table` besides the usual form."""
        index = self._index
        alias = self._parse_table_alias(self.ID_VAR_TOKENS)
        if alias is None or not self._match_text_seq("AS", "CHANGELOG", "FROM"):
            self._retreat(index)
            return self._with_search_and_cycle(super()._parse_cte())
        table = self._parse_table_parts()
        if table is None or not isinstance(table.this, exp.Identifier):
            self.raise_error("table expected")
        cte = exp.CTE(this=table, alias=alias)
        cte.meta[CHANGELOG] = True
        return cte

    def _with_search_and_cycle(self, cte: Any) -> Any:
        """SEARCH and CYCLE stand behind each query of a WITH."""
        if self._match_text_seq("SEARCH"):
            breadth = self._match_text_seq("BREADTH")
            if not breadth and not self._match_text_seq("DEPTH"):
                self.raise_error("DEPTH or BREADTH expected")
            self._expect_words("FIRST", "BY")
            columns = self._parse_csv(self._parse_id_var)
            self._expect_words("SET")
            cte.set("search", SearchClause(this=self._name(), expressions=columns, breadth=bool(breadth)))
        if self._match_text_seq("CYCLE"):
            columns = self._parse_csv(self._parse_id_var)
            self._expect_words("SET")
            clause = CycleClause(this=self._name(), expressions=columns)
            if self._match_text_seq("TO"):
                clause.set("to", self._parse_bitwise())
                self._expect_words("DEFAULT")
                clause.set("default", self._parse_bitwise())
            self._expect_words("USING")
            clause.set("using", self._name())
            cte.set("cycle", clause)
        return cte

    def _expect_words(self, *words: str) -> None:
        for word in words:
            if not self._match_text_seq(word):
                self.raise_error(f"{word} expected")

    def _name(self) -> exp.Expr:
        name = self._parse_id_var()
        if name is None:
            self.raise_error("name expected")
        assert name is not None
        return name
