"""LIKE, SIMILAR TO and regular expressions in system queries, with PostgreSQL's meaning.

    relname LIKE 'my\\_t%'              =>  relname LIKE 'my\\_t%' ESCAPE '\\'      (DuckDB has no default)
    relname ~ '^(?!pg_)'                =>  rpy_boolean('regexp_eq', relname, '^(?!pg_)')
    relname !~~ ALL ('{pg\\\\_%,sql%}')   =>  every element in turn, by LIST_TRANSFORM

The functions are those of users' queries (`functions/topics`): DuckDB's own regular expressions are
RE2's.
"""

from __future__ import annotations

import duckdb
from sqlglot import exp

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation
from risingpy.frontend.catalog.functions import instantiate
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.functions.evaluation.sql_text import own_function
from risingpy.types import BOOLEAN, INTEGER, VARCHAR, SqlType, array_of
from risingpy.types.forms import parse_text

_TEXTS = array_of(VARCHAR)
_RESULTS = (BOOLEAN, INTEGER, VARCHAR, _TEXTS)
_ITEM = "rp_item"  # of an array, while the pattern is compared with each
_REGEXPS: dict[type[exp.Expr], str] = {exp.RegexpLike: "regexp_eq", exp.RegexpILike: "regexp_ieq"}
_ANY = (exp.Any, exp.All)
# Functions by name: the one of ours for each number of arguments, and the result.
_FUNCTIONS: dict[str, tuple[dict[int, str], SqlType]] = {
    "regexp_like": ({2: "regexp_like_1", 3: "regexp_like_2"}, BOOLEAN),
    "regexp_matches": ({2: "regexp_match_1"}, _TEXTS),  # without flags at most one row comes
    "regexp_match": ({2: "regexp_match_1", 3: "regexp_match_2"}, _TEXTS),
    "regexp_replace": ({3: "regexp_replace_2", 4: "regexp_replace_3"}, VARCHAR),
    "regexp_split_to_array": ({2: "regexp_split_1", 3: "regexp_split_2"}, _TEXTS),
    "regexp_count": ({2: "regexp_count_1"}, INTEGER),
    "regexp_substr": ({2: "regexp_substr_1"}, VARCHAR),
}
# Whether one element is enough, or all are needed; NULL where the elements that are NULL decide.
_SOME = (
    "CASE WHEN LIST_BOOL_OR($1) THEN TRUE WHEN LEN($1) > LIST_COUNT($1) THEN NULL WHEN $1 IS NOT NULL THEN FALSE END"
)
_EVERY = (
    "CASE WHEN NOT LIST_BOOL_AND($1) THEN FALSE WHEN LEN($1) > LIST_COUNT($1) THEN NULL"
    " WHEN $1 IS NOT NULL THEN TRUE END"
)
_ROWS = "UNNEST(CASE WHEN $1 IS NULL THEN [] ELSE [$1] END)"


def register_patterns(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the functions known that `pattern_match` calls."""
    OwnFunctions(connection).make_known(" ".join(own_function(type_) for type_ in _RESULTS))


def pattern_match(node: exp.Expr) -> exp.Expr | None:
    """What a comparison with a pattern, or a call of a pattern function, becomes; None if `node` is neither."""
    match node:
        case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.RegexpILike() if is_quantified(node.expression):
            return _quantified(node)
        case exp.Like() | exp.ILike() | exp.SimilarTo() if isinstance(node.parent, exp.Escape):
            return None  # which is next
        case exp.Like() | exp.ILike():
            return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))
        case exp.SimilarTo():
            return _call("similar", [node.this, node.expression], BOOLEAN)
        case exp.Escape(this=exp.SimilarTo() as similar):
            return _call("similar_escape", [similar.this, similar.expression, node.expression], BOOLEAN)
        case exp.RegexpLike() | exp.RegexpILike() if node.args.get("flag") is None:
            return _call(_REGEXPS[type(node)], [node.this, node.expression], BOOLEAN)
        case exp.Substring():
            return _substring(node)
    return _function(node)


def is_quantified(operand: exp.Expr | None) -> bool:
    """Whether it is ANY (…), SOME (…) or ALL (…)."""
    return isinstance(operand, _ANY) or (
        isinstance(operand, exp.Anonymous) and str(operand.name).lower() in ("any", "some", "all")
    )


def _quantified(node: exp.Expr) -> exp.Expr:
    """`x LIKE ANY (array)`: the comparison with each element, and what they come to."""
    operand = node.expression
    every = isinstance(operand, exp.All) or (isinstance(operand, exp.Anonymous) and operand.name.lower() == "all")
    inner = operand.expressions[0] if isinstance(operand, exp.Anonymous) else operand.this
    inner = inner.unnest()
    one = node.copy()
    one.set("expression", exp.column(_ITEM))
    compared = pattern_match(one) or one
    if isinstance(inner, exp.Not):  # of `plain_text`
        compared, inner = exp.not_(compared), inner.this.unnest()
    if isinstance(inner, exp.Query):
        query = inner.this if isinstance(inner, exp.Subquery) else inner
        inner = exp.Array(expressions=[query.copy()])
    items = exp.Lambda(this=compared, expressions=[exp.to_identifier(_ITEM)], colon=True)
    hits = exp.Anonymous(this="LIST_TRANSFORM", expressions=[_texts(inner), items])
    return exp.paren(instantiate(_EVERY if every else _SOME, [hits]))


def _texts(array: exp.Expr) -> exp.Expr:
    return exp.cast(array.copy(), exp.DataType.build("VARCHAR[]", dialect="duckdb"))


def array_of_text(text: str) -> exp.Expr:
    """The array that a text such as `{a,b}` means. Raises 22P02."""
    items = parse_text(_TEXTS, text)
    if not isinstance(items, list | tuple):
        raise InvalidTextRepresentation(f'malformed array literal: "{text}"')
    return exp.Array(expressions=[exp.convert(item) for item in items])


def _substring(node: exp.Substring) -> exp.Expr | None:
    """`substring(x FROM pattern)`; one by position stays as it is."""
    pattern, escape = node.args.get("start"), node.args.get("length")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return None
    if escape is None:
        return _call("regexp_substring", [node.this, pattern], VARCHAR)
    return _call("similar_substring", [node.this, pattern, escape], VARCHAR)


def _function(node: exp.Expr) -> exp.Expr | None:
    if isinstance(node, exp.RegexpReplace):
        name = "regexp_replace"
        arguments = [node.this, node.expression, node.args.get("replacement"), node.args.get("modifiers")]
    elif isinstance(node, exp.Anonymous):
        name, arguments = str(node.name).lower(), list(node.expressions)
    else:
        return None
    given = [argument for argument in arguments if argument is not None]
    by_count, result = _FUNCTIONS.get(name, ({}, VARCHAR))
    function = by_count.get(len(given))
    if function is None:
        if by_count:
            message = f"{name} with {len(given)} arguments together with system relations is not supported"
            raise FeatureNotSupported(message)
        return None
    called = _call(function, given, result)
    return instantiate(_ROWS, [called]) if name == "regexp_matches" else called


def _call(function: str, arguments: list[exp.Expr], result: SqlType) -> exp.Expr:
    texts = [exp.cast(argument.copy(), exp.DataType.build("VARCHAR", dialect="duckdb")) for argument in arguments]
    return exp.Anonymous(this=own_function(result), expressions=[exp.Literal.string(function), *texts])
