"""Checks the expressions of a view: a value may change only when its row does."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition
from risingpy.functions.topics.python_functions import VOLATILE
from risingpy.functions.volatile import NON_DETERMINISTIC
from risingpy.optimizer.now import NOW, is_time_word
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Expr, Parameter


def check_expressions(expressions: Sequence[Expr]) -> None:
    """Raises FeatureNotSupported for an expression that changes with time, InvalidTableDefinition for a parameter."""
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
            if isinstance(part, Call) and part.function in VOLATILE:
                hint = "Say IMMUTABLE in CREATE FUNCTION if it always gives the same for the same arguments."
                raise unsupported("a Python function that is not IMMUTABLE in a materialized view", hint)
            if isinstance(part, Parameter):
                raise InvalidTableDefinition("a materialized view cannot have parameters")


def unsupported(construct: str, hint: str) -> FeatureNotSupported:
    """The error for a construct that views cannot have."""
    return FeatureNotSupported(f"{construct} is not supported yet", hint=hint)
