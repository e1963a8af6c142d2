"""Facts about a logical plan's rows that hold for any contents of the tables: columns without NULLs, unique keys."""

from __future__ import annotations

from typing import assert_never

from risingpy.optimizer.once_per_operator import OncePerOperator
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import (
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    GivenRows,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    MutualRecursion,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    RecursiveScan,
    Scan,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)

_ONE_SIDED = (JoinKind.LEFT_SEMI, JoinKind.LEFT_ANTI)
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "like", "ilike", "not_like", "not_ilike"})
# These functions return NULL if any argument is NULL, and only then.
_STRICT = _COMPARISONS | {"add", "subtract", "multiply", "negate", "lower", "upper", "length", "concat_op", "abs"}


@OncePerOperator
def not_null_columns(plan: LogicalPlan) -> frozenset[int]:
    """The output columns that are never NULL."""
    match plan:
        case Scan():
            return frozenset(i for i, column in enumerate(plan.columns) if column in plan.not_null)
        case Values():
            columns = range(len(plan.schema))
            return frozenset(i for i in columns if all(is_not_null(row[i], frozenset()) for row in plan.rows))
        case Filter():
            return not_null_columns(plan.input) | rejected_nulls(plan.predicate)
        case Sort() | Limit() | TopN() | OverWindow():
            return not_null_columns(plan.input)
        case Project():
            below = not_null_columns(plan.input)
            return frozenset(i for i, e in enumerate(plan.expressions) if is_not_null(e, below))
        case Aggregate():
            below, keys = not_null_columns(plan.input), len(plan.group_key)
            counts = {keys + i for i, call in enumerate(plan.calls) if call.function == "count"}
            return frozenset(i for i, key in enumerate(plan.group_key) if key in below) | counts
        case Expand():
            return not_null_columns(plan.input) | {len(plan.schema) - 1}
        case ChangeLog():
            return not_null_columns(plan.input) | {len(plan.schema) - 2, len(plan.schema) - 1}
        case Union():
            return frozenset.intersection(*(not_null_columns(each) for each in plan.inputs))
        case Join() | Apply():
            return _not_null_of_join(plan)
        case ProjectSet():
            below = not_null_columns(plan.input)
            return below if plan.outer else below | {len(plan.input.schema)}
        case MutualRecursion():
            return frozenset({0})
        case SystemScan() | Recursion() | RecursiveScan() | GivenRows():
            return frozenset()
        case _:
            assert_never(plan)


def _not_null_of_join(plan: Join | Apply) -> frozenset[int]:
    left = not_null_columns(plan.left)
    if plan.kind in _ONE_SIDED:
        return left
    right = frozenset(len(plan.left.schema) + i for i in not_null_columns(plan.right))
    match plan.kind:
        case JoinKind.LEFT | JoinKind.ASOF_LEFT | JoinKind.TEMPORAL_LEFT:
            return left
        case JoinKind.RIGHT:
            return right
        case JoinKind.FULL:
            return frozenset()
        case _:
            return left | right


def is_not_null(expr: Expr, columns: frozenset[int]) -> bool:
    """Whether the value is never NULL, given that the input's `columns` are not."""
    match expr:
        case InputRef():
            return expr.index in columns
        case Literal():
            return expr.value is not None
        case Cast():
            return is_not_null(expr.arg, columns)
        case Call("coalesce", args):
            return any(is_not_null(arg, columns) for arg in args)
        case Call(function, args) if function in _STRICT:
            return all(is_not_null(arg, columns) for arg in args)
        case Call(function):
            return function.startswith("is_")
        case _:
            return False


def rejected_nulls(predicate: Expr) -> frozenset[int]:
    """The columns that cannot be NULL in a row for which the condition is true."""
    match predicate:
        case Call("and", (left, right)):
            return rejected_nulls(left) | rejected_nulls(right)
        case Call("or", (left, right)):
            return rejected_nulls(left) & rejected_nulls(right)
        case Call("not" | "is_not_null" | "is_false" | "is_not_unknown", (operand,)):
            return strict_columns(operand)
        case Call("is_true", (operand,)):
            return rejected_nulls(operand)
        case _:
            return strict_columns(predicate)


def strict_columns(expr: Expr) -> frozenset[int]:
    """Columns whose NULL makes the expression NULL."""
    match expr:
        case InputRef():
            return frozenset({expr.index})
        case Cast():
            return strict_columns(expr.arg)
        case Call("only_row", (value, _)):
            return strict_columns(value)
        case Call(function, args) if function in _STRICT:
            return frozenset().union(*(strict_columns(arg) for arg in args))
        case _:
            return frozenset()


@OncePerOperator
def unique_keys(plan: LogicalPlan) -> frozenset[frozenset[int]]:
    """Sets of output columns in which no two rows are equal. The empty set means that there is at most one row."""
    if at_most_one_row(plan):
        return frozenset({frozenset()})
    match plan:
        case Scan():
            if not plan.key or not set(plan.key) <= set(plan.columns):
                return frozenset()
            return frozenset({frozenset(plan.columns.index(column) for column in plan.key)})
        case Filter() | Sort() | Limit() | OverWindow():
            return unique_keys(plan.input)
        case TopN():
            is_one = plan.limit <= 1 and not plan.with_ties
            return unique_keys(plan.input) | (frozenset({frozenset(plan.group_key)}) if is_one else frozenset())
        case Project():
            passed = {e.index: i for i, e in reversed(list(enumerate(plan.expressions))) if isinstance(e, InputRef)}
            keys = (key for key in unique_keys(plan.input) if key <= passed.keys())
            return frozenset(frozenset(passed[column] for column in key) for key in keys)
        case Aggregate():
            return frozenset({frozenset(range(len(plan.group_key)))})
        case Expand():
            return frozenset(key | {len(plan.schema) - 1} for key in unique_keys(plan.input))
        case Join() if plan.kind in _ONE_SIDED:
            return unique_keys(plan.left)
        case ProjectSet():
            number = len(plan.input.schema)
            return frozenset(key | {number} for key in unique_keys(plan.input))
        case Join() | Apply() | Union() | ChangeLog() | Values():
            return frozenset()
        case Recursion() | RecursiveScan() | MutualRecursion() | SystemScan() | GivenRows():
            return frozenset()
        case _:
            assert_never(plan)


def at_most_one_row(plan: LogicalPlan) -> bool:
    """Whether the plan can give no second row."""
    match plan:
        case Values():
            return len(plan.rows) <= 1
        case Aggregate():
            return not plan.group_key or at_most_one_row(plan.input)
        case Filter() | Project() | Sort() | OverWindow():
            return at_most_one_row(plan.input)
        case Limit():
            is_one = _is_at_most_one(plan.limit) and not plan.with_ties
            return is_one or at_most_one_row(plan.input)
        case TopN():
            is_one = plan.limit <= 1 and not plan.with_ties and not plan.group_key
            return is_one or at_most_one_row(plan.input)
        case Join() if plan.kind in _ONE_SIDED:
            return at_most_one_row(plan.left)
        case Join() | Apply():
            return at_most_one_row(plan.left) and at_most_one_row(plan.right) and plan.kind is not JoinKind.FULL
        case Expand():
            return plan.copies <= 1 and at_most_one_row(plan.input)
        case Union():
            return len(plan.inputs) == 1 and at_most_one_row(plan.inputs[0])
        case Scan() | SystemScan() | GivenRows() | ProjectSet() | ChangeLog():
            return False
        case Recursion() | RecursiveScan() | MutualRecursion():
            return False
        case _:
            assert_never(plan)


def _is_at_most_one(limit: Expr | None) -> bool:
    return isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value <= 1


def exactly_one_row(plan: LogicalPlan) -> bool:
    """Whether the plan always gives one row."""
    match plan:
        case Values():
            return len(plan.rows) == 1
        case Aggregate():
            return not plan.group_key
        case Project() | Sort() | OverWindow():
            return exactly_one_row(plan.input)
        case Join() | Apply():
            both = exactly_one_row(plan.left) and exactly_one_row(plan.right)
            return both and plan.kind in (JoinKind.CROSS, JoinKind.LEFT)
        case _:
            return False
