"""Small pieces of logical plans that binding needs everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from risingpy.frontend.binder.typing.coercion import Coercer, Context, Operand
from risingpy.plan.expression_trees import transform
from risingpy.plan.expressions import Call, Case, Expr, InputRef, Literal
from risingpy.plan.logical import Aggregate, Field, LogicalPlan, Project, ProjectSet, Schema, Values
from risingpy.types import BIGINT, BOOLEAN, SqlType, TypeKind
from risingpy.types.system_types import as_text, by_name, names_objects

_ROW_NUMBER = "projected_row_id"
ONE_ROW = Values(((),), ())  # what a query without FROM reads


def references(schema: Schema) -> tuple[InputRef, ...]:
    """A reference to every column of an input."""
    return tuple(InputRef(i, field.type) for i, field in enumerate(schema))


def project(plan: LogicalPlan, exprs: Sequence[Expr], names: Sequence[str]) -> Project:
    """A projection whose columns have these names, with the types of their expressions."""
    fields = tuple(Field(name, expr.type) for name, expr in zip(names, exprs, strict=True))
    return Project(plan, tuple(exprs), fields)


def marked(plan: LogicalPlan) -> Project:
    """The plan with one more column, which is hidden and true: NULL beside an outer join says that there is no row."""
    marker = Field("", BOOLEAN, hidden=True)  # no name in SQL is empty
    return Project(plan, (*references(plan.schema), Literal(True, BOOLEAN)), (*plan.schema, marker))


def distinct(plan: LogicalPlan) -> Aggregate:
    """The rows of the plan, each once: a grouping by all columns. NULLs are equal here, as SQL has it for DISTINCT."""
    return Aggregate(plan, tuple(range(len(plan.schema))), (), plan.schema)


def renamed(plan: LogicalPlan, names: Sequence[str]) -> LogicalPlan:
    """The plan with other column names."""
    fields = tuple(replace(field, name=name) for field, name in zip(plan.schema, names, strict=True))
    if fields == plan.schema:
        return plan
    if isinstance(plan, Project | Values):
        return replace(plan, schema=fields)
    return Project(plan, references(plan.schema), fields)


def expanded_rows(plan: LogicalPlan, levels: int) -> LogicalPlan:
    """What the `levels` ProjectSets that are the top of `plan` expand."""
    for _ in range(levels):
        assert isinstance(plan, ProjectSet)
        plan = plan.input
    return plan


def with_expanded_rows(plan: LogicalPlan, levels: int, rows: LogicalPlan) -> tuple[LogicalPlan, Callable[[Expr], Expr]]:
    """The `levels` ProjectSets on top of `plan` over `rows`, which have columns behind those that were expanded.

    And the way from expressions over `plan` to the same over the result.
    """
    width = len(expanded_rows(plan, levels).schema)
    added = len(rows.schema) - width

    def moved(part: Expr) -> Expr | None:
        if isinstance(part, InputRef) and part.index >= width:
            return InputRef(part.index + added, part.type)
        return None

    def over(each: LogicalPlan, number: int) -> LogicalPlan:
        if not number:
            return rows
        assert isinstance(each, ProjectSet)
        input = over(each.input, number - 1)
        lists = tuple(transform(expr, moved) for expr in each.lists)
        return replace(each, input=input, lists=lists, schema=(*input.schema, *each.schema[len(each.input.schema) :]))

    return over(plan, levels), lambda expr: transform(expr, moved)


Conversion = Callable[[Operand, int], Expr]


def converted(plan: LogicalPlan, convert: Conversion, positions: Sequence[int]) -> LogicalPlan:
    """The plan with each output column converted; literals are converted where they stand, so that their text counts.

    `convert` takes a column's expression and number; `positions` are where the columns' texts begin.
    """
    if isinstance(plan, Values):
        rows = tuple(_row(row, convert, positions) for row in plan.rows)
        exprs: Sequence[Expr] = rows[0]
        fields = tuple(replace(f, type=e.type) for f, e in zip(plan.schema, exprs, strict=True))
        return Values(rows, fields)
    if isinstance(plan, Project):
        exprs = _row(plan.expressions, convert, positions)
        input_plan = plan.input
    else:
        exprs = _row(references(plan.schema), convert, positions)
        input_plan = plan
        if exprs == references(plan.schema):
            return plan
    fields = tuple(replace(f, type=e.type) for f, e in zip(plan.schema, exprs, strict=True))
    return Project(input_plan, tuple(exprs), fields)


def _row(exprs: Sequence[Expr], convert: Conversion, positions: Sequence[int]) -> tuple[Expr, ...]:
    return tuple(convert(Operand(e, p), i) for i, (e, p) in enumerate(zip(exprs, positions, strict=True)))


def is_settled(sql_type: SqlType) -> bool:
    """Whether nothing in a type is unknown."""
    return sql_type.kind is not TypeKind.UNKNOWN and all(map(is_settled, sql_type.items))


def shown(plan: LogicalPlan, coercer: Coercer) -> LogicalPlan:
    """The plan as a client gets it: a regclass or its like by its name, not by its oid."""
    if not any(names_objects(field.type) for field in plan.schema):
        return plan
    return converted(plan, lambda operand, _: _shown(operand, coercer), [1] * len(plan.schema))


def named_fields(schema: Schema, shown_schema: Schema) -> Schema:
    """The columns of `shown`, as clients hear of them: the name of a regclass is a regclass."""
    return tuple(
        replace(field, type=by_name(given.type)) if names_objects(given.type) else field
        for given, field in zip(schema, shown_schema, strict=True)
    )


def _shown(operand: Operand, coercer: Coercer) -> Expr:
    if not names_objects(operand.type):
        return operand.expr
    return coercer.coerce(operand, as_text(operand.type), Context.EXPLICIT)


def settled(plan: LogicalPlan, coercer: Coercer) -> LogicalPlan:
    """The plan with text for whatever is still unknown."""
    if all(is_settled(field.type) for field in plan.schema):
        return plan
    return converted(plan, lambda operand, _: coercer.settled(operand), [1] * len(plan.schema))


def project_set(
    plan: LogicalPlan, lists: Sequence[Expr], names: Sequence[str], *, outer: bool = False
) -> tuple[ProjectSet, int]:
    """A ProjectSet over `plan`, and where the number of the element stands: the elements come behind it."""
    added = [Field(_ROW_NUMBER, BIGINT, hidden=True)]
    added += [Field(name, each.type.element) for name, each in zip(names, lists, strict=True)]
    return ProjectSet(plan, tuple(lists), (*plan.schema, *added), outer), len(plan.schema)


def whole_row(plan: LogicalPlan, number: int) -> Expr:
    """The row that stands behind its number. As in PostgreSQL, an element that is NULL is a row of NULLs."""
    element = InputRef(number + 1, plan.schema[number + 1].type)
    nulls = Call("row", tuple(Literal(None, each) for each in element.type.items), element.type)
    absent = Call("is_null", (InputRef(number, BIGINT),), BOOLEAN)  # after an outer join
    row = Call("coalesce", (element, nulls), element.type)
    return Case(((absent, Literal(None, element.type)),), row, element.type)
