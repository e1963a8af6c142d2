"""UNION, INTERSECT and EXCEPT, with ALL and CORRESPONDING.

    a UNION b          =>  Aggregate(distinct; Union(a, b))
    a INTERSECT b      =>  Join(semi; distinct a, b), all columns being the same, NULLs too
    a EXCEPT b         =>  Join(anti; distinct a, b)
    a INTERSECT ALL b  =>  Join(semi; a, b), each with a number among equal rows that is to be the same too
    a EXCEPT ALL b     =>  Join(anti; a, b), likewise

So each of them streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, SqlError, SyntaxError_
from risingpy.frontend.binder.plans import converted, distinct, project, references, settled
from risingpy.frontend.binder.scope.context import BindContext
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.binder.typing.coercion import Context, Operand, common_type
from risingpy.plan.expression_trees import conjunction
from risingpy.plan.expressions import Call, Cast, Expr, InputRef
from risingpy.plan.logical import Field, Join, JoinKind, LogicalPlan, OverWindow, Union
from risingpy.plan.window_calls import WindowCall
from risingpy.types import BIGINT, BOOLEAN, SqlType

Bind = Callable[[exp.Expr], LogicalPlan]


def bound_set_operation(context: BindContext, bind: Bind, tree: exp.SetOperation) -> LogicalPlan:
    """The plan, without ORDER BY and LIMIT of the whole. Columns have the inputs' common types, the first's names."""
    branches = _branches(tree)
    plans = [bind(branch) for branch in branches]
    if tree.args.get("by_name"):
        plans = _corresponding(context, tree, plans)
    word = tree.key.upper()
    inputs, fields = with_common_types(context, word, branches, plans)
    is_distinct = bool(tree.args.get("distinct"))
    if isinstance(tree, exp.Union):
        union = Union(inputs, fields)
        return distinct(union) if is_distinct else union
    left, right = inputs
    kind = JoinKind.LEFT_SEMI if isinstance(tree, exp.Intersect) else JoinKind.LEFT_ANTI
    if is_distinct:
        return _matched(distinct(left), right, kind)
    matched = _matched(_numbered(left), _numbered(right), kind)
    return project(matched, references(left.schema), [field.name for field in left.schema])


def with_common_types(
    context: BindContext, word: str, branches: Sequence[exp.Expr], plans: Sequence[LogicalPlan]
) -> tuple[tuple[LogicalPlan, ...], tuple[Field, ...]]:
    """The inputs with equal types; `word` names the operation in errors."""
    width = len(plans[0].schema)
    for branch, plan in zip(branches, plans, strict=True):
        if len(plan.schema) != width:
            message = f"each {word} query must have the same number of columns"
            at = (_output_positions(branch, len(plan.schema)) or [begin_of(branch)])[0]
            raise SyntaxError_(message, position=at)
    positions = [_output_positions(branch, width) for branch in branches]
    types = []
    for i in range(width):
        columns = zip(plans, positions, strict=True)
        operands = [Operand(InputRef(i, p.schema[i].type), at[i]) for p, at in columns]
        types.append(common_type(operands, word))
    inputs = tuple(
        converted(plan, lambda operand, i: _to_type(context, operand, types[i]), at)
        for plan, at in zip(plans, positions, strict=True)
    )
    return inputs, tuple(Field(f.name, t) for f, t in zip(plans[0].schema, types, strict=True))


def _numbered(plan: LogicalPlan) -> LogicalPlan:
    """The rows with a number among those that are equal, from 1."""
    call = WindowCall("row_number", (), BIGINT)
    schema = (*plan.schema, Field("row_number", BIGINT))
    return OverWindow(plan, tuple(range(len(plan.schema))), (), (call,), schema)


def _matched(left: LogicalPlan, right: LogicalPlan, kind: JoinKind) -> LogicalPlan:
    """The left rows that are, or are not, among the right ones."""
    split = len(left.schema)
    pairs = [(InputRef(i, f.type), InputRef(split + i, f.type)) for i, f in enumerate(left.schema)]
    same = [Call("is_not_distinct_from", pair, BOOLEAN) for pair in pairs]
    return Join(left, right, kind, conjunction(same), left.schema)


def _to_type(context: BindContext, operand: Operand, target: SqlType) -> Expr:
    expr = context.coercer.coerce(operand, target, Context.IMPLICIT)
    return expr if expr.type == target else Cast(expr, target)


def _corresponding(context: BindContext, tree: exp.SetOperation, plans: Sequence[LogicalPlan]) -> list[LogicalPlan]:
    """The inputs' columns of the names that both have, or of those that BY lists."""
    left, right = (settled(plan, context.coercer) for plan in plans)
    names = [[field.name for field in plan.schema] for plan in (left, right)]
    by = tree.args.get("on") or ()
    listed = [name_of(column.this if isinstance(column, exp.Column) else column) for column in by]
    for name in listed:
        if name not in names[0] or name not in names[1]:
            message = f'column "{name}" of CORRESPONDING BY is not in both queries'
            raise SqlError(message, sqlstate="42703", position=begin_of(tree))
    common = listed or [name for name in names[0] if name in names[1]]
    if not common:
        message = f"CORRESPONDING of queries without a common column name in {tree.key.upper()}"
        raise SyntaxError_(message, position=begin_of(tree))
    return [_named(plan, common, tree) for plan in (left, right)]


def _named(plan: LogicalPlan, names: Sequence[str], tree: exp.Expr) -> LogicalPlan:
    columns = []
    for name in names:
        places = [i for i, field in enumerate(plan.schema) if field.name == name]
        if len(places) > 1:
            message = f'column reference "{name}" is ambiguous'
            raise SqlError(message, sqlstate="42702", position=begin_of(tree))
        columns.append(InputRef(places[0], plan.schema[places[0]].type))
    return project(plan, columns, names)


def _branches(tree: exp.SetOperation) -> list[exp.Expr]:
    """The queries that one operation puts together; a chain of equal UNIONs is one."""
    if tree.args.get("by_name"):
        if not tree.args.get("kind"):
            raise FeatureNotSupported("UNION BY NAME is not supported", position=begin_of(tree))
        return [tree.this, tree.expression]
    left = tree.this
    if isinstance(tree, exp.Union) and isinstance(left, exp.Union):
        same = bool(left.args.get("distinct")) == bool(tree.args.get("distinct"))
        plain = not any(left.args.get(key) for key in ("order", "limit", "offset", "with_", "by_name"))
        if same and plain:
            return [*_branches(left), tree.expression]
    return [left, tree.expression]


def _output_positions(tree: exp.Expr, width: int) -> list[int]:
    """Where each output column's text begins, for errors; the query's own beginning where that is not known."""
    while isinstance(tree, exp.Subquery | exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Select) and len(tree.expressions) == width:
        return [begin_of(e) for e in tree.expressions]
    return [begin_of(tree)] * width
