"""What views have in common is computed once: equal operators over the changes of the same table.

Twenty views of one table often filter alike, or group by the same columns. Such an operator, and all below it down to
the TableScan, has no state besides the scan's progress; so its output in an epoch follows from its expressions and the
table's changes alone. The first view that needs it computes it, and the others take it over.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from risingpy.executors.few_rows.chunk import Chunk
from risingpy.plan.aggregates import LocalAgg
from risingpy.plan.codec import encode
from risingpy.plan.graph import Fragment
from risingpy.plan.operator_work import WorkFigures
from risingpy.plan.operators import StreamFilter, StreamPlan, StreamProject, TableScan
from risingpy.plan.traversal import Border, children, nodes_of_fragment

OutputKey: TypeAlias = bytes  # 16 bytes, the same for plans that compute the same
Use: TypeAlias = "tuple[OutputKey, OutputKey | int]"  # of an output, and by what: another output, or a fragment


def output_key(plan: StreamPlan) -> OutputKey | None:
    """The key of a plan's output; None if it depends on more than a table's changes. Names of columns do not count."""
    match plan:
        case TableScan():
            return _digest(("scan", plan.upstream.table_id, plan.columns))
        case StreamFilter():
            return _above(plan.input, ("filter", (plan.predicate,)))
        case StreamProject():
            return _above(plan.input, ("project", plan.expressions))
        case LocalAgg():
            return _above(plan.input, ("local aggregation", plan.group_key, plan.calls))
        case _:
            return None


def _above(input: StreamPlan, own: tuple[object, ...]) -> OutputKey | None:
    below = output_key(input)
    return None if below is None else _digest((below.hex(), *own))


def _digest(what: tuple[object, ...]) -> OutputKey:
    return hashlib.blake2b(encode(what), digest_size=16).digest()


def uses_in(fragment: Fragment) -> frozenset[Use]:
    """All uses in a fragment of outputs that others may use, too."""
    found: set[tuple[OutputKey | None, OutputKey | int]] = {(output_key(fragment.root), fragment.fragment_id)}
    for node in nodes_of_fragment(fragment.root):
        if node is fragment.root or not isinstance(node, Border):
            user = output_key(node) or fragment.fragment_id
            found.update((output_key(child), user) for child in children(node))
    return frozenset((key, user) for key, user in found if key is not None)


def wanted_by_several(uses: Iterable[frozenset[Use]]) -> Mapping[OutputKey, int]:
    """How often an output is used, of those that are used more than once.

    Equal operators above it count as one use: only the first of them asks for its input.
    """
    counts = Counter(key for key, _ in frozenset[Use]().union(*uses))
    return {key: count for key, count in counts.items() if count > 1}


@dataclass(frozen=True, slots=True)
class SharedOutput:
    """What an operator gave, how many expressions failed, and the work of it and those below by their distance."""

    rows: Chunk
    errors: int
    work: Mapping[int, WorkFigures]


@dataclass(slots=True)
class SharedOutputs:
    """The outputs of one stage on one shard. `wanted`: see `wanted_by_several`.

    An output is kept until its last use: the rows of a large epoch take memory.
    """

    wanted: Mapping[OutputKey, int]
    _kept: dict[OutputKey, SharedOutput] = field(default_factory=dict)
    _left: dict[OutputKey, int] = field(default_factory=dict)

    def take(self, key: OutputKey) -> SharedOutput | None:
        """The output, if an earlier use has computed it."""
        found = self._kept.get(key)
        if found is not None:
            self._left[key] -= 1
            if not self._left[key]:
                del self._kept[key]
        return found

    def keep(self, key: OutputKey, output: SharedOutput) -> None:
        """Keeps it for its other uses."""
        self._left[key] = self.wanted[key] - 1
        self._kept[key] = output
