"""`= ANY($1)` of bound arrays: a hash table instead of a comparison with each element, and the same answers."""

from __future__ import annotations

import time

import pytest

from risingpy.batch.parameters import with_parameters
from risingpy.frontend.binder import bind_query
from risingpy.frontend.parser import parse_query
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call
from risingpy.plan.logical import LogicalPlan
from risingpy.types import BIGINT, DOUBLE, INTEGER, SMALLINT, VARCHAR, SqlType, array_of


def functions(condition: str, type_: SqlType, value: object) -> set[str]:
    """The functions that are left once the parameter has a value."""
    query = f"SELECT 1 FROM (VALUES (1::int, 'a'::varchar, 1::float8)) AS t(k, v, f) WHERE {condition}"
    bound = bind_query(parse_query(query), Catalog(), ("public",), [type_])

    def called(plan: LogicalPlan) -> set[str]:
        exprs = [plan.predicate] if hasattr(plan, "predicate") else list(getattr(plan, "expressions", ()))
        own = {part.function for expr in exprs for part in walk(expr) if isinstance(part, Call)}
        return own.union(*map(called, plan_inputs(plan)))

    return called(with_parameters(optimize(bound.plan), [value]))


@pytest.mark.parametrize(
    ("condition", "type_", "value", "left"),
    [
        ("k = ANY($1)", array_of(INTEGER), [1, 2], {"in"}),
        ("k = ANY($1)", array_of(INTEGER), list(range(100)), {"in_list"}),
        ("k = ANY($1)", array_of(SMALLINT), [*range(99), None], {"in_list"}),
        ("k <> ALL($1)", array_of(INTEGER), list(range(100)), {"not", "in_list"}),
        ("v = ANY($1)", array_of(VARCHAR), ["a", "b"], {"in"}),
        ("f = ANY($1)", array_of(DOUBLE), [0.5, -0.0], {"in"}),
        ("k = ANY($1)", array_of(BIGINT), [1, 2], {"in"}),
        ("k = ANY($1)", array_of(INTEGER), [], {"any_eq"}),
        ("k = ANY($1)", array_of(INTEGER), None, {"any_eq"}),
        ("k = ALL($1)", array_of(INTEGER), [1, 2], {"all_eq"}),
        ("k < ANY($1)", array_of(INTEGER), [1, 2], {"any_lt"}),
    ],
)
def test_a_bound_array_is_a_list(condition: str, type_: SqlType, value: object, left: set[str]) -> None:
    assert functions(condition, type_, value) == left


def test_many_elements_take_as_long_as_they_must() -> None:
    began = time.process_time()
    assert functions("k = ANY($1)", array_of(INTEGER), list(range(20_000))) == {"in_list"}
    assert time.process_time() - began < 5.0
