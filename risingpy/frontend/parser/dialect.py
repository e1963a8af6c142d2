"""Our dialect of sqlglot: RisingWave's, with PostgreSQL's operators, every position kept, and nothing guessed.

sqlglot parses SELECT's clauses; expressions go through `ExpressionParser`. Functions stay `Anonymous` nodes with
the name as written, so that the signature table alone decides what a name means.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.risingwave import RisingWave
from sqlglot.errors import ParseError
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokenizer_core import Token, TokenizerCore, TokenType

from risingpy.errors import Check, TooManyConditions, unchecked
from risingpy.frontend.parser.literals.literal_list import LITERALS, end_of_literals, ends_of_rows
from risingpy.frontend.parser.with_parser import WithParser
from risingpy.nesting import MAX_CONDITIONS

_STRINGS = (TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING)
_LINE_END = re.compile(r"[\n\r]")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CONDITIONS = (TokenType.AND, TokenType.OR, TokenType.WHEN)
COMMA_JOIN = "comma"  # meta key of a Join written as a comma
TOKENS_PER_CHECK = 256  # a power of two: how many are read between two looks whether the statement was cancelled
END_OF_QUERY = TokenType.SPACE  # of a word that ends a query wherever it stands; no SQL that we read has such a token
MORE_ROWS = "more rows"  # meta key of VALUES: the text of the rows after the first, which are like it
SESSION_GAP = "session_gap"  # part of an Order: the gap of a window's SESSION WITH GAP
USING_ALIAS = "using alias"  # meta key of a join: what stands behind AS in `USING (…) AS name`
NATURAL_COLUMNS = "natural columns"  # meta key of a NATURAL join that was bound: the columns that both sides have


class UnexpectedToken(ParseError):
    """What sqlglot could not parse; `token` is None at the end of the input."""

    def __init__(self, token: Token | None, message: str) -> None:
        super().__init__(message)
        self.token = token


class QueryParser(WithParser):
    """Parses queries. One instance parses one statement's tokens (`start`), then is driven by its methods."""

    PRIMARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **BaseParser.PRIMARY_PARSERS,
        TokenType.STAR: lambda self, _: self._parse_star_ops(),
    }

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Any]] = {
        token: BaseParser.QUERY_MODIFIER_PARSERS[token]
        for token in (
            TokenType.WHERE,
            TokenType.GROUP_BY,
            TokenType.HAVING,
            TokenType.WINDOW,
            TokenType.ORDER_BY,
            TokenType.LIMIT,
            TokenType.FETCH,
            TokenType.OFFSET,
            TokenType.FOR,
        )
    }

    _check: Check = staticmethod(unchecked)

    def start(self, tokens: list[Token], sql: str, check: Check = unchecked) -> None:
        """Begins with `tokens`, whose positions refer to `sql`."""
        self.reset()
        self._check = check
        self.sql = sql
        self._tokens = tokens
        self._tokens_size = len(tokens)
        self._index = -1
        self._advance()

    def _advance(self, times: int = 1) -> None:
        super()._advance(times)
        if not self._index & (TOKENS_PER_CHECK - 1):
            self._check()

    def raise_error(self, message: str, token: Token | None = None) -> None:
        # The token that follows what could be parsed is the one PostgreSQL names.
        raise UnexpectedToken(self._curr if self._index < self._tokens_size else None, message)

    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Any]] = {TokenType.PARAMETER: lambda self: self._parse_parameter()}

    def _parse_parameter(self) -> exp.Parameter:
        token = self._prev
        if token.text != "$" or self._curr.token_type is not TokenType.NUMBER or not self._curr.text.isdigit():
            self._retreat(self._index - 1)
            self.raise_error("parameters are written $1")
        self._advance()
        return self._at(exp.Parameter(this=exp.Literal.number(self._prev.text)), token)

    def _parse_star_ops(self) -> exp.Expr:
        """What may follow a star: RisingWave's EXCEPT (columns); of other dialects nothing."""
        star = exp.Star().update_positions(self._prev)
        if self._curr.token_type is TokenType.EXCEPT and self._next.token_type is TokenType.L_PAREN:
            index = self._index
            self._advance(2)
            if self._curr.text.upper() in ("SELECT", "WITH", "VALUES", "TABLE") or self._curr.text == "(":
                self._retreat(index)  # EXCEPT of two queries
                return star
            star.set("except_", [self._needed(self._parse_disjunction)])
            while self._match(TokenType.COMMA):
                star.append("except_", self._needed(self._parse_disjunction))
            self._expect(TokenType.R_PAREN)
        return star

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        # DuckDB's `FROM t` and `SUMMARIZE t` are no SQL of ours.
        if self._curr.token_type in (TokenType.FROM, TokenType.SUMMARIZE, TokenType.DESCRIBE):
            return None
        token = self._curr
        tree = super()._parse_select_query(*args, **kwargs)
        if tree is not None and "start" not in tree.meta:
            tree.update_positions(token)
        return tree

    def _parse_partition_and_order(self) -> Any:
        """RisingWave's `SESSION WITH GAP gap` after ORDER BY, in place of a frame; the gap is kept in the `Order`."""
        partition, order = super()._parse_partition_and_order()
        if order is not None and self._match_text_seq("SESSION", "WITH", "GAP"):
            order.set(SESSION_GAP, self._needed(self._parse_disjunction))
            if self._curr.token_type is not TokenType.R_PAREN:
                self.raise_error("closing parenthesis expected")
        return partition, order

    def _parse_window_spec(self) -> dict[str, Any]:
        """A bound of a frame. sqlglot gives nothing for what is none."""
        bound: dict[str, Any] = super()._parse_window_spec()
        if bound["value"] is None or (bound["side"] is None and bound["value"] != "CURRENT ROW"):
            self.raise_error("PRECEDING or FOLLOWING expected")
        return bound

    def _parse_limit(
        self, this: exp.Expr | None = None, top: bool = False, skip_limit_token: bool = False
    ) -> exp.Expr | None:
        limit = None if top else super()._parse_limit(this, skip_limit_token=skip_limit_token)
        if isinstance(limit, exp.Limit) and limit.args.get("limit_options"):  # which FETCH FIRST has
            while self._prev.token_type is not TokenType.NUMBER and self._prev.text.upper() not in ("LIMIT", ")"):
                self._retreat(self._index - 1)
            self.raise_error("the end of LIMIT expected")
        return limit

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        comma = self._curr.token_type is TokenType.COMMA
        token = self._curr
        index = self._index
        join = super()._parse_join(*args, **kwargs)
        if join is None:
            if comma:
                # sqlglot gives up on `FROM a,` silently: say what follows the comma.
                self._retreat(index + 1)
                self.raise_error("table expected after the comma")
            return None
        join.update_positions(token)
        if join.args.get("using") and self._match(TokenType.ALIAS):
            join.meta[USING_ALIAS] = self._name()
        if comma:
            join.meta[COMMA_JOIN] = True
        elif join.args.get("kind") != "CROSS" and not any(join.args.get(key) for key in ("on", "using", "method")):
            self.raise_error("ON or USING expected")
        return join

    def _parse_using_identifiers(self) -> list[exp.Expr]:
        """Bare names: sqlglot would take any expression."""
        names: list[exp.Expr] = []
        for opening in ("(", ","):
            while self._match_text_seq(opening):
                name = None if self._curr.token_type in _STRINGS else self._parse_id_var(any_token=False)
                if name is None:
                    self.raise_error("column name expected")
                    raise AssertionError("raise_error returns never")
                names.append(name)
                if opening == "(":
                    break
        if not names or not self._match(TokenType.R_PAREN):
            self.raise_error("closing parenthesis expected")
        return names

    def _parse_group(self, *args: Any, **kwargs: Any) -> exp.Group | None:
        group = super()._parse_group(*args, **kwargs)
        if group is not None and not any(group.args.values()):
            self.raise_error("expression expected")
        return group

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        token = self._curr
        values = super()._parse_derived_table_values(allow_value_synonym)
        if values is not None and self._prev.token_type is TokenType.COMMA:
            self.raise_error("row expected after the comma")
        if values is not None and self._match(LITERALS):
            values.meta[MORE_ROWS] = self._prev.text
        return None if values is None else self._at(values, token)

    def _parse_lateral(self) -> Any:
        """LATERAL ROWS FROM (…) is ROWS FROM (…): functions may read what stands before them anyway."""
        index = self._index
        if self._match(TokenType.LATERAL) and self._match_text_seq("ROWS", "FROM", advance=False):
            return self._parse_table()
        self._retreat(index)
        return super()._parse_lateral()

    def _parse_table(self, *args: Any, **kwargs: Any) -> Any:
        """`ONLY (t)` is `ONLY t`, of which sqlglot knows the latter."""
        if self._curr.token_type is not TokenType.ONLY or self._next.token_type is not TokenType.L_PAREN:
            return super()._parse_table(*args, **kwargs)
        self._advance(2)
        table = self._parse_table_parts()
        if not self._match(TokenType.R_PAREN):
            self.raise_error("closing parenthesis expected")
        table.set("only", True)
        table.set("alias", self._parse_table_alias(alias_tokens=self.TABLE_ALIAS_TOKENS))
        return table

    def _parse_table_sample(self, as_modifier: bool = False) -> exp.TableSample | None:
        """`TABLESAMPLE method (argument, …) [REPEATABLE (seed)]`, of any expressions."""
        if not self._match(TokenType.TABLE_SAMPLE):
            return None
        method = self._parse_id_var()
        arguments = self._parse_wrapped(lambda: self._parse_csv(self._parse_assignment))
        seed = self._parse_wrapped(self._parse_assignment) if self._match_text_seq("REPEATABLE") else None
        return self.expression(exp.TableSample(method=method, expressions=arguments, seed=seed))

    def _parse_table_parts(self, *args: Any, **kwargs: Any) -> Any:
        token = self._curr
        if token.token_type in (*_STRINGS, TokenType.DOT):
            self.raise_error("name expected")
        table = super()._parse_table_parts(*args, **kwargs)
        if table is not None:
            table.update_positions(token)
        return table


class InterruptibleCore(TokenizerCore):
    """sqlglot's tokenizer, which can be stopped, and which does not read comments character by character."""

    __slots__ = ("check", "conditions", "rows")

    def __init__(self, other: TokenizerCore) -> None:
        for name in TokenizerCore.__slots__:
            setattr(self, name, getattr(other, name))
        self.check: Check = unchecked
        self.conditions = 0  # of the statement so far
        self.rows: tuple[int, int] | None = None  # where the first row of parameters ends, and the last one

    def _add(self, token_type: TokenType, text: str | None = None) -> None:
        super()._add(token_type, text)
        if token_type in _CONDITIONS:
            self.conditions += 1
            if self.conditions > MAX_CONDITIONS:
                raise TooManyConditions(f"more than {MAX_CONDITIONS:,} AND, OR and WHEN are too complex")
        elif token_type is TokenType.SEMICOLON:
            self.conditions = 0
        if not len(self.tokens) & (TOKENS_PER_CHECK - 1):
            self.check()
        if token_type is TokenType.L_PAREN and len(self.tokens) > 1:
            before = self.tokens[-2].token_type
            if before is TokenType.IN:
                self._add_literals(end_of_literals(self.sql, self._current))
            elif before is TokenType.VALUES and not (len(self.tokens) > 2 and self.tokens[-3].text == "("):
                self.rows = ends_of_rows(self.sql, self._current)
        elif token_type is TokenType.R_PAREN and self.rows is not None and self._current == self.rows[0]:
            self._add_literals(self.rows[1])

    def _add_literals(self, end: int | None) -> None:
        """Makes one token of the text up to `end`, if that is known."""
        if end is not None:
            self._start = self._current
            self._skip_to(end)
            super()._add(LITERALS)

    def _scan_comment(self, comment_start: str) -> bool:
        """A comment's text is dropped: nobody reads it. Those in `/* */` nest."""
        if comment_start == "--":
            end = _LINE_END.search(self.sql, self._current)
            self._skip_to(self.size if end is None else end.start())
            return True
        if not comment_start.startswith("/*"):
            return False
        depth = 0
        for found in _COMMENT_MARK.finditer(self.sql, self._start):
            depth += 1 if found.group() == "/*" else -1
            if not depth:
                self._skip_to(found.end())
                return True
        raise ValueError(f"Missing */ from 0:{self._start}")

    def _skip_to(self, end: int) -> None:
        self._advance(end - self._current)


class RisingPyDialect(RisingWave):
    """The dialect of RisingPy; used through `parse` only."""

    class Tokenizer(RisingWave.Tokenizer):
        def _init_core(self) -> TokenizerCore:
            return InterruptibleCore(super()._init_core())

        COMMANDS: ClassVar[set[TokenType]] = set()  # SHOW, EXPLAIN and the like are ours to parse
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{
                word: token
                for word, token in RisingWave.Tokenizer.KEYWORDS.items()
                if word not in ("==", "||/", "|/", "BEGIN", "END TRANSACTION")
            },
            **dict.fromkeys(("<#>", "<+>", "<<=", ">>="), TokenType.LR_ARROW),
        }

    Parser = QueryParser
