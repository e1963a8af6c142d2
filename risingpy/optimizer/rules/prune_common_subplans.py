"""Prunes all occurrences of a common part to the same columns, so that they stay equal and the part runs once.

    Join(Project(k, n; g), Project(k, m; g))        where g = Aggregate(k; count AS n, sum AS m, max AS x; t)
    =>  Join(Project(k, n; h), Project(k, m; h))    where h = Aggregate(k; count AS n, sum AS m; t)

The rule leaves all other operators to column_pruning.
"""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.optimizer.common_subplans import common_subplans
from risingpy.optimizer.rewrite import plan_inputs, rewrite_plan, with_inputs
from risingpy.optimizer.rules.column_pruning import column_pruning
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import LogicalPlan, Project, Scan


def prune_common_subplans(plan: LogicalPlan) -> LogicalPlan:
    """What `column_pruning` gives, but all occurrences of a common part keep one set of columns and stay equal."""
    common = common_subplans(plan)
    if not common:
        return column_pruning(plan)
    parts: dict[int, LogicalPlan] = {}
    pruned = column_pruning(_with_places(plan, common, parts))
    needed: dict[int, set[int]] = {number: set() for number in parts}
    _note_needs(pruned, needed)
    columns = {number: tuple(sorted(read)) for number, read in needed.items()}
    made = {number: prune_common_subplans(_projected(parts[number], columns[number])) for number in parts}

    def put_back(node: LogicalPlan) -> LogicalPlan:
        if not isinstance(node, Scan) or -node.relation_id not in made:
            return node
        have = columns[-node.relation_id]
        return _projected(made[-node.relation_id], tuple(have.index(i) for i in node.columns))

    return rewrite_plan(pruned, put_back)


def _with_places(plan: LogicalPlan, common: Mapping[int, int], parts: dict[int, LogicalPlan]) -> LogicalPlan:
    """The plan with a placeholder for every common part: a scan of the relation with the id −number."""
    number = common.get(id(plan))
    if number is not None and plan.schema:
        parts[number] = plan
        return Scan(-number, "", tuple(range(len(plan.schema))), plan.schema)
    inputs = plan_inputs(plan)
    return with_inputs(plan, [_with_places(each, common, parts) for each in inputs])


def _note_needs(plan: LogicalPlan, needed: Mapping[int, set[int]]) -> None:
    if isinstance(plan, Scan) and -plan.relation_id in needed:
        needed[-plan.relation_id].update(plan.columns)
    for each in plan_inputs(plan):
        _note_needs(each, needed)


def _projected(plan: LogicalPlan, columns: tuple[int, ...]) -> LogicalPlan:
    if columns == tuple(range(len(plan.schema))):
        return plan
    schema = plan.schema
    return Project(plan, tuple(InputRef(i, schema[i].type) for i in columns), tuple(schema[i] for i in columns))
