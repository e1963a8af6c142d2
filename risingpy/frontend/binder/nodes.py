"""Which function binds which node of sqlglot's trees: all of them, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from risingpy.frontend.binder.expressions import casts, leaves, nested, operators, subqueries
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.expressions.symbols import BINARY
from risingpy.frontend.binder.functions import aggregate_calls, calls, special, window_calls
from risingpy.frontend.parser.expression_parser import Operator, UnaryPlus
from risingpy.frontend.parser.nested_parser import MapConstructor, Subscript
from risingpy.plan.expressions import Expr

NODE_BINDERS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expr]] = {
    exp.Column: ExpressionBinder.column,
    # Leaves
    exp.Literal: leaves.bind_literal,
    exp.ByteString: leaves.bind_text,
    exp.RawString: leaves.bind_text,
    exp.National: leaves.bind_text,
    exp.Heredoc: leaves.bind_text,
    exp.BitString: leaves.bind_bits,
    exp.HexString: leaves.bind_bits,
    exp.Boolean: leaves.bind_boolean,
    exp.Null: leaves.bind_null,
    exp.Parameter: leaves.bind_parameter,
    exp.Interval: leaves.bind_interval,
    exp.Star: leaves.refuse_star,
    exp.Var: leaves.refuse_default,
    # Operators
    **dict.fromkeys(BINARY, operators.bind_binary),
    Operator: operators.bind_operator,
    exp.Operator: operators.bind_named_operator,
    UnaryPlus: operators.bind_plus,
    exp.Neg: operators.bind_negation,
    exp.Paren: operators.bind_paren,
    exp.And: operators.bind_connector,
    exp.Or: operators.bind_connector,
    exp.Not: operators.bind_not,
    exp.Is: operators.bind_is,
    exp.NullSafeEQ: operators.bind_distinct_from,
    exp.NullSafeNEQ: operators.bind_distinct_from,
    exp.Between: operators.bind_between,
    exp.SimilarTo: operators.bind_similar,
    exp.Escape: operators.bind_escape,
    exp.AtTimeZone: operators.bind_at_time_zone,
    exp.Overlaps: special.bind_overlaps,
    exp.Collate: special.bind_collate,
    # Casts and CASE
    exp.Cast: casts.bind_cast,
    exp.TryCast: casts.bind_try_cast,
    exp.Case: casts.bind_case,
    # Arrays, rows and maps
    exp.Array: nested.bind_array,
    exp.Tuple: nested.bind_row,
    MapConstructor: nested.bind_map,
    Subscript: nested.bind_subscript,
    # Subqueries
    exp.Subquery: subqueries.bind_scalar,
    exp.Exists: subqueries.bind_exists,
    exp.In: subqueries.bind_in,
    exp.Any: subqueries.refuse_quantifier,
    exp.All: subqueries.refuse_quantifier,
    # Calls
    exp.Anonymous: calls.bind_function,
    exp.Dot: calls.bind_qualified,
    exp.Extract: calls.bind_extract,
    exp.Filter: aggregate_calls.bind_filtered,
    exp.WithinGroup: aggregate_calls.bind_within_group,
    exp.Window: window_calls.bind_over,
}
