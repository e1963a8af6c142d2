"""Makes one projection of two, and drops one that changes nothing.

    Project(x + 1; Project(a * 2 AS x; t))  =>  Project(a * 2 + 1; t)
    Project(a, b; t(a, b))                  =>  t(a, b)

Two stay if the inner one computes a value that the outer one reads more than once: it would be computed twice.
"""

from __future__ import annotations

from collections import Counter

from risingpy.optimizer.rewrite import rewrite_plan
from risingpy.plan.expression_trees import substituted, walk
from risingpy.plan.expressions import InputRef, Literal
from risingpy.plan.logical import LogicalPlan, Project


def project_merge(plan: LogicalPlan) -> LogicalPlan:
    """The plan without a projection on a projection, but where merging would compute a value twice."""
    return rewrite_plan(plan, _merge)


def _merge(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Project(Project() as inner, expressions, schema) if _reads_once(plan, inner):
            merged = tuple(substituted(e, inner.expressions) for e in expressions)
            return _merge(Project(inner.input, merged, schema))
        case Project(input_plan, expressions, schema) if schema == input_plan.schema:
            identity = tuple(InputRef(i, field.type) for i, field in enumerate(schema))
            return input_plan if expressions == identity else plan
        case _:
            return plan


def _reads_once(outer: Project, inner: Project) -> bool:
    reads = Counter(part.index for e in outer.expressions for part in walk(e) if isinstance(part, InputRef))
    return all(isinstance(inner.expressions[index], InputRef | Literal) for index, count in reads.items() if count > 1)
