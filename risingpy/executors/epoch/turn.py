"""A run of a stage within an epoch: one in the order of stages, and more where a loop repeats stages level by level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from risingpy.plan.recursion.loops import Loop, Stages
from risingpy.storage.engine.undo_record import stage_of_turn


@dataclass(frozen=True, slots=True)
class Turn:
    """`repetition` counts those of the epoch's loops, from 1; it is 0 in the order of stages.

    In a repetition, only the fragments of the loop that ends in stage `loop` run. `levels`: by the fragment of a
    recursion, the level whose turn it is; none for the lowest, 0.
    """

    stage: int
    repetition: int = 0
    loop: int = 0
    levels: Mapping[int, int] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """What the turn is to the storage, as a stage."""
        return stage_of_turn(self.stage, self.repetition)


@dataclass(slots=True)
class Repetitions:
    """Counts the repetitions of an epoch, whose tasks report what is pending, and gives its turns."""

    number: int = 0
    pending: dict[int, int] = field(default_factory=dict)

    def note(self, pending: Mapping[int, int]) -> None:
        """Takes what a task has reported: by the fragment of a recursion, the lowest level with changes."""
        for fragment_id, level in pending.items():
            self.pending[fragment_id] = min(level, self.pending.get(fragment_id, level))

    def chains(self, stages: Stages) -> Iterator[Sequence[Turn]]:
        """All turns of an epoch in their order, in chains: what one reports must have been noted before the next.

        The last chain ends with the last stage, for what reads a loop's rows comes after it.
        """
        begin = 0
        for loop in stages.loops:
            yield [Turn(stage) for stage in range(begin, loop.last + 1)]
            begin = loop.last + 1
            while turns := self._next(loop):
                yield turns
        yield [Turn(stage) for stage in range(begin, stages.depth)]

    def _next(self, loop: Loop) -> list[Turn]:
        """The turns of the loop's next repetition; none if nothing of it is pending."""
        levels = {each: self.pending.pop(each) for each in list(self.pending) if each in loop.members}
        if not levels:
            return []
        self.number += 1
        return [Turn(stage, self.number, loop.last, levels) for stage in range(loop.first, loop.last + 1)]
