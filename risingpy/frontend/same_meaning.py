"""Whether two plans mean the same, whatever the names of the relations that they read."""

from __future__ import annotations

import dataclasses

from risingpy.plan.logical import LogicalPlan, Scan


def same_meaning(one: LogicalPlan, other: LogicalPlan) -> bool:
    """The same operators over the same relations, columns and constants. A scan's relation counts by its id."""
    rest: list[tuple[object, object]] = [(one, other)]
    while rest:
        mine, its = rest.pop()
        if mine is its:
            continue
        if type(mine) is not type(its):
            return False
        if isinstance(mine, tuple) and isinstance(its, tuple):
            if len(mine) != len(its):
                return False
            rest += zip(mine, its, strict=True)
        elif dataclasses.is_dataclass(mine) and not isinstance(mine, type):
            for field in dataclasses.fields(mine):
                if not field.compare or (isinstance(mine, Scan) and field.name in ("name", "version")):
                    continue
                rest.append((getattr(mine, field.name), getattr(its, field.name)))
        elif mine != its:
            return False
    return True
