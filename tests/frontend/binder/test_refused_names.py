"""Only missing constructs are refused by name: no list of refused names has one that works."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from risingpy.frontend.binder.expressions.expression_binder import UNSUPPORTED_NODES
from risingpy.frontend.binder.functions.calls import UNSUPPORTED_FUNCTIONS
from risingpy.frontend.binder.functions.hypothetical import HYPOTHETICAL
from risingpy.frontend.binder.functions.lambdas import LAMBDA_FUNCTIONS
from risingpy.frontend.binder.functions.maps import MAP_FUNCTIONS
from risingpy.frontend.binder.functions.special import SPECIAL
from risingpy.frontend.binder.nodes import NODE_BINDERS
from risingpy.frontend.binder.typing.type_names import (
    BUILT_IN_TYPES,
    CAST_FUNCTIONS,
    INSTEAD,
    UNSUPPORTED_TYPES,
    resolve_type,
)
from risingpy.frontend.parser.statements import STATEMENT_PARSERS, UNSUPPORTED_STATEMENTS
from risingpy.functions.signatures import AGGREGATES, SCALARS, TABLE_FUNCTIONS, WINDOW_FUNCTIONS
from tests.frontend.binder.bench import bind

# Of CREATE TABLE's columns alone; as a type anywhere else they are refused.
SERIAL = {"serial", "bigserial", "smallserial", "serial2", "serial4", "serial8"}


def test_no_function_is_both_refused_and_there() -> None:
    there = {*SCALARS, *AGGREGATES, *WINDOW_FUNCTIONS, *HYPOTHETICAL, *LAMBDA_FUNCTIONS, *MAP_FUNCTIONS, *SPECIAL}
    assert {*there, *TABLE_FUNCTIONS, *CAST_FUNCTIONS} & UNSUPPORTED_FUNCTIONS == set()


def test_no_statement_and_no_node_is_both_refused_and_there() -> None:
    assert set(STATEMENT_PARSERS) & UNSUPPORTED_STATEMENTS == set()
    assert set(NODE_BINDERS) & set(UNSUPPORTED_NODES) == set()


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_TYPES))
def test_a_refused_type_is_refused(name: str) -> None:
    with pytest.raises(SqlError, match=f"type {name} is not supported") as refused:
        resolve_type(name, None, BUILT_IN_TYPES)
    assert (refused.value.hint is not None) == (name in SERIAL or name in INSTEAD)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED_FUNCTIONS - {"current_time"}))
def test_a_refused_function_is_refused(name: str) -> None:
    with pytest.raises(SqlError, match=f"function {name} is not supported"):
        bind(f"SELECT {name}(1)")
