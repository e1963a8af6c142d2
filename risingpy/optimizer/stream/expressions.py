"""Checks the expressions of a view: a value may change only when its row does. Random values become functions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition
from risingpy.functions.topics.python_functions import VOLATILE
from risingpy.functions.volatile import NAMES_OF_SEEDED, NON_DETERMINISTIC, SEEDED
from risingpy.optimizer.now import NOW, is_time_word
from risingpy.plan.expression_trees import transform, walk
from risingpy.plan.expressions import Call, Expr, Parameter

_OF_ELEMENTS = frozenset({"array_transform", "map_filter"})  # their second argument is computed for each element


def values_of_rows(expressions: Sequence[Expr], key: Sequence[Expr]) -> list[Expr]:
    """The expressions, each random value in them as a function of its row's `key`. Raises as `check_expressions` does.

    So a row that goes takes just the values with it that it came with, without a table that remembers these.
    """
    check_expressions(expressions, random=True)
    return [transform(expression, lambda part: _with_key(part, key)) for expression in expressions]


def _with_key(part: Expr, key: Sequence[Expr]) -> Expr | None:
    return replace(part, args=(*part.args, *key)) if isinstance(part, Call) and part.function in SEEDED else None


def check_expressions(expressions: Sequence[Expr], *, random: bool = False) -> None:
    """Raises FeatureNotSupported for an expression that changes with time, InvalidTableDefinition for a parameter.

    Random values are refused unless `random`, and always inside a function of elements: these have no key.
    """
    for expression in expressions:
        for part in walk(expression):
            if part == NOW:
                raise FeatureNotSupported(
                    "in a materialized view or a sink now() is only allowed in WHERE, HAVING and ON",
                    hint="For example, WHERE ts > now() - interval '1 hour'. A table can keep the time at which a row "
                    "came: ts TIMESTAMPTZ DEFAULT now().",
                )
            if is_time_word(part):
                hint = "Write current_date, current_timestamp or now(), in WHERE, HAVING or ON."
                raise unsupported("a text that means another time each day in a materialized view", hint)
            if isinstance(part, Call) and part.function in NON_DETERMINISTIC:
                hint = "A view's answer must not change by itself."
                raise unsupported(f"{part.function}() in a materialized view", hint)
            if isinstance(part, Call) and part.function in SEEDED and not random:
                hint = "Compute it in the select list of a subquery, and use its column here."
                raise unsupported(f"{NAMES_OF_SEEDED[part.function]}() in this place of a materialized view", hint)
            if isinstance(part, Call) and part.function in _OF_ELEMENTS:
                check_expressions(part.args[1:2])
            if isinstance(part, Call) and part.function in VOLATILE:
                hint = "Say IMMUTABLE in CREATE FUNCTION if it always gives the same for the same arguments."
                raise unsupported("a Python function that is not IMMUTABLE in a materialized view", hint)
            if isinstance(part, Parameter):
                raise InvalidTableDefinition("a materialized view cannot have parameters")


def unsupported(construct: str, hint: str) -> FeatureNotSupported:
    """The error for a construct that views cannot have."""
    return FeatureNotSupported(f"{construct} is not supported yet", hint=hint)
