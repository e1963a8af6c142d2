"""`t TABLESAMPLE BERNOULLI (percent) [REPEATABLE (seed)]`: a part of a table's rows, by chance.

    t TABLESAMPLE BERNOULLI (10)                 =>  Filter(random() < 0.1; t)
    t TABLESAMPLE BERNOULLI (10) REPEATABLE (7)  =>  Filter(random_of_row(7, key of t) < 0.1; t)

Each row is taken or left by itself, also with SYSTEM: PostgreSQL's takes whole pages there, and these tables have none.
With REPEATABLE the key decides, so that a row stays in the sample as long as it is there, and a larger sample has all
rows of a smaller one. In a view that is so without REPEATABLE, too (docs/decisions/116).
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError
from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.scope.columns import Scope
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.coercion import Context
from risingpy.functions.evaluation.evaluate import evaluate_constants
from risingpy.functions.volatile import OF_ROW
from risingpy.plan.catalog import MaterializedView, Relation, Table
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, CorrelatedRef, InputRef, Literal, Parameter, Subquery
from risingpy.plan.logical import Filter, LogicalPlan
from risingpy.types import BOOLEAN, DOUBLE

_METHODS = ("bernoulli", "system")
_ALL = 100.0


def no_table_to_sample(position: int | None) -> FeatureNotSupported:
    """The error for a sample of anything but a table or a materialized view."""
    message = "TABLESAMPLE clause can only be applied to tables and materialized views"
    return FeatureNotSupported(message, position=position)


def sampled(
    context: BindContext, sample: exp.TableSample, relation: Relation, plan: LogicalPlan, position: int | None
) -> LogicalPlan:
    """The rows of the sample of `relation`, all of whose columns `plan` gives.

    Raises 42704 for another method, 2202H for a percentage that is NULL or none, 2202G for a seed that is NULL.
    """
    if not isinstance(relation, Table | MaterializedView):
        raise no_table_to_sample(position)
    method = name_of(sample.args.get("method"))
    if method.lower() not in _METHODS:
        raise SqlError(f"tablesample method {method.lower()} does not exist", sqlstate="42704", position=position)
    arguments = sample.expressions
    if len(arguments) != 1:
        message = f"tablesample method {method.lower()} requires 1 argument, not {len(arguments)}"
        raise SqlError(message, sqlstate="2202H", position=position)
    percent = _constant(context, arguments[0])
    if percent is None:
        raise SqlError("TABLESAMPLE parameter cannot be null", sqlstate="2202H", position=begin_of(arguments[0]))
    if not 0 <= percent <= _ALL:  # NaN is neither
        message = "sample percentage must be between 0 and 100"
        raise SqlError(message, sqlstate="2202H", position=begin_of(arguments[0]))
    drawn = Call("random", (), DOUBLE)
    seed_tree = sample.args.get("seed")
    if seed_tree is not None:
        seed = _constant(context, seed_tree)
        if seed is None:
            message = "TABLESAMPLE REPEATABLE parameter cannot be null"
            raise SqlError(message, sqlstate="2202G", position=begin_of(seed_tree))
        key = (InputRef(i, plan.schema[i].type) for i in relation.stream_key)
        drawn = Call(OF_ROW[drawn.function], (Literal(seed, DOUBLE), *key), DOUBLE)
    return Filter(plan, Call("lt", (drawn, Literal(percent / _ALL, DOUBLE)), BOOLEAN))


def _constant(context: BindContext, tree: exp.Expr) -> float | None:
    """The value of an expression without columns, as a double precision number."""
    operand = ExpressionBinder(context, Scope(), "TABLESAMPLE").bind(tree)
    expression = context.coercer.coerce(operand, DOUBLE, Context.ASSIGNMENT)
    if any(isinstance(part, CorrelatedRef | Parameter | Subquery) for part in walk(expression)):
        message = "a parameter, a subquery or a column in TABLESAMPLE is not supported"
        raise FeatureNotSupported(message, position=begin_of(tree))
    ((value,), _) = evaluate_constants([expression])
    number: float | None = value[0].as_py()
    return number
