"""The sequences that a DEFAULT names: kept by their ids, so that a rename changes nothing.

nextval('s')  =>  nextval('16400'::regclass), and 16400 among the column's `sequences`
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.binder.scope.context import BindContext, SessionValues, refuse_system
from risingpy.frontend.binder.statement import make_context
from risingpy.frontend.binder.typing.coercion import Coercer
from risingpy.frontend.binder.typing.names_of_types import text_with_schemas
from risingpy.frontend.parser.ast import Expression
from risingpy.frontend.parser.cursor import STRINGS
from risingpy.frontend.parser.tokenize import tokenize
from risingpy.frontend.system_catalog.registry import object_names
from risingpy.plan.catalog import Catalog
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Expr, Literal

_CALLS = ("nextval", "currval", "setval", "lastval")
_NAMED = ("nextval", "currval", "setval")


def default_context(catalog: Catalog, search_path: Sequence[str], session: SessionValues | None) -> BindContext:
    """A context for DEFAULTs, which may name the catalog's types and sequences and nothing else of it."""
    context = make_context(catalog.only_types(), search_path, (), session)
    names = object_names(catalog, search_path)
    context.coercer = Coercer(context.parameters, context.session.time_zone, names)
    return context


def refuse_system_but_sequences(context: BindContext, what: str) -> None:
    """As `refuse_system`, but for sequences, whose functions work anywhere."""
    calls = [use for use in context.system_uses if use.name in _CALLS]
    allowed = {*_CALLS, "regclass"} if calls else set()
    refuse_system([use for use in context.system_uses if use.name not in allowed], what)


def stored_default(context: BindContext, default: Expression, bound: Expr) -> tuple[str, tuple[int, ...]]:
    """(The text of a DEFAULT with ids in place of the names of sequences, these ids)."""
    calls = [part for part in walk(bound) if isinstance(part, Call) and part.function in _NAMED]
    text = text_with_schemas(default, context.types)
    if not calls:
        return text, ()
    ids: set[int] = set()
    for part in calls:
        if not isinstance(part.args[0], Literal) or not isinstance(part.args[0].value, int):
            message = "a DEFAULT names a sequence by a constant text: nextval('name')"
            raise FeatureNotSupported(message, position=default.position)
        ids.add(part.args[0].value)
    pieces, end = list[str](), 0
    tokens = tokenize(text)
    for place in range(len(tokens) - 2):
        if tokens[place].text.lower() in _NAMED and tokens[place + 1].token_type is TokenType.L_PAREN:
            named = tokens[place + 2]
            if named.token_type in STRINGS:
                oid = context.coercer.names.oid("regclass", named.text)
                pieces += [text[end : named.start], f"'{oid}'::regclass"]
                end = _end_of_cast(tokens, place + 2)
    return "".join((*pieces, text[end:])), tuple(sorted(ids))


def _end_of_cast(tokens: list[Token], place: int) -> int:
    """Where a text ends, with a cast to regclass that may follow."""
    words = [token.text.lower() for token in tokens[place + 1 : place + 5]]
    for cast in (["::", "regclass"], ["::", "pg_catalog", ".", "regclass"]):
        if words[: len(cast)] == cast:
            return tokens[place + len(cast)].end + 1
    return tokens[place].end + 1
