"""Which columns of a query PostgreSQL would call text, and which character varying: one type here, two for clients.

A column of a table is what its declaration says, a literal and what a function gives is text. COALESCE and CASE give
the type of their operands, and text if one of these is text.
"""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.plan.catalog import Catalog
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, Subquery
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Apply,
    ChangeLog,
    Expand,
    Filter,
    Join,
    Limit,
    LogicalPlan,
    OverWindow,
    Project,
    ProjectSet,
    Recursion,
    Scan,
    Schema,
    Sort,
    SystemScan,
    TopN,
    Union,
    Values,
)
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import as_text

_OF_ARGUMENT = frozenset(
    {"first_value", "last_value", "nth_value", "lag", "lead", "mode", "percentile_disc", "array_agg"}
)
_OF_COMMON_TYPE = frozenset({"coalesce", "greatest", "least", "nullif", "array", "array_cat", "array_append"})


def with_texts(plan: LogicalPlan, fields: Schema, catalog: Catalog) -> tuple[SqlType, ...]:
    """The types of a plan's columns as clients hear of them; `fields` are these columns."""
    found = _Texts(catalog)
    return tuple(
        as_text(field.type) if _may_be(field.type) and found.is_text(plan, place) else field.type
        for place, field in enumerate(fields)
    )


def _may_be(sql_type: SqlType) -> bool:
    leaf = sql_type.leaf
    return leaf.kind is TypeKind.VARCHAR and not leaf.system and leaf.length is None


class _Texts:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[int, int], bool] = {}

    def is_text(self, plan: LogicalPlan, place: int) -> bool:
        """Whether a plan's column is text. A plan that is read several times is looked at once."""
        key = id(plan), place
        if key not in self._known:
            self._known[key] = True  # of what a recursion reads of itself, which says nothing of the type
            self._known[key] = self._found(plan, place)
        return self._known[key]

    def _found(self, plan: LogicalPlan, place: int) -> bool:
        match plan:
            case Scan():
                relation = self._catalog.relations.get(plan.relation_id)
                return relation is None or relation.columns[plan.columns[place]].as_text
            case SystemScan():
                return False  # what is text there is of that very type
            case Project():
                return self._expr(plan.expressions[place], plan.input)
            case Values():
                return all(self._expr(row[place], plan) for row in plan.rows)
            case Aggregate():
                grouped = len(plan.group_key)
                if place < grouped:
                    return self.is_text(plan.input, plan.group_key[place])
                call: AggCall = plan.calls[place - grouped]
                return call.function not in _OF_ARGUMENT or self.is_text(plan.input, call.args[-1])
            case OverWindow():
                width = len(plan.input.schema)
                if place < width:
                    return self.is_text(plan.input, place)
                over = plan.calls[place - width]
                return over.function not in _OF_ARGUMENT or self._expr(over.args[0], plan.input)
            case Join() | Apply():
                width = len(plan.left.schema)
                return self.is_text(plan.left, place) if place < width else self.is_text(plan.right, place - width)
            case Union():
                return self._any_text([self.is_text(each, place) for each in plan.inputs])
            case Recursion():
                return self.is_text(plan.start, place)
            case Filter() | Sort() | Limit() | TopN():
                return self.is_text(plan.input, place)
            case ProjectSet() | Expand() | ChangeLog():
                return place >= len(plan.input.schema) or self.is_text(plan.input, place)
        return True

    def _expr(self, expr: Expr, plan: LogicalPlan) -> bool:
        match expr:
            case InputRef(index):
                return self.is_text(plan, index)
            case Cast(arg, sql_type) if sql_type == arg.type:
                return self._expr(arg, plan)
            case Case():
                return self._common([*(result for _, result in expr.branches), expr.default], plan)
            case Call(function, args) if function in _OF_COMMON_TYPE:
                return self._common(args, plan)
            case Subquery():
                return self.is_text(expr.plan, 0)  # type: ignore[arg-type]  # the expressions' module knows no plans
        return True

    def _common(self, exprs: Sequence[Expr], plan: LogicalPlan) -> bool:
        """Literals say nothing: they take the type of the others."""
        return self._any_text([self._expr(each, plan) for each in exprs if not isinstance(each, Literal)])

    @staticmethod
    def _any_text(flags: Sequence[bool]) -> bool:
        return not flags or any(flags)
