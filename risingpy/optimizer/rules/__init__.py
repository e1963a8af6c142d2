"""The rules that every query goes through, in order; each is one file and one function from plan to plan."""

from risingpy.optimizer.logical import LogicalPlan

__all__ = ["optimize"]


def optimize(plan: LogicalPlan) -> LogicalPlan:
    return plan
