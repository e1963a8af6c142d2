"""The order of an epoch's turns: stages one after the other, loops again while a recursion has changes."""

from __future__ import annotations

from risingpy.executors.epoch.turn import Repetitions, Turn
from risingpy.plan.recursion.loops import Loop, Stages

FIRST, SECOND = 11, 22  # fragments of recursions
STAGES = Stages(6, (Loop(1, 2, {FIRST: 1}), Loop(1, 4, {SECOND: 2})))


def chains_of(*told: dict[int, int], stages: Stages = STAGES) -> list[list[tuple[int, int]]]:
    """The stage and repetition of each turn, by chain; `told` is pending after the first chains."""
    repetitions, pending = Repetitions(), iter(told)
    found = []
    for turns in repetitions.chains(stages):
        found.append([(turn.stage, turn.repetition) for turn in turns])
        repetitions.note(next(pending, {}))
    return found


def test_without_loops_there_is_one_chain() -> None:
    assert chains_of(stages=Stages(3)) == [[(0, 0), (1, 0), (2, 0)]]


def test_a_loop_repeats_while_one_of_its_recursions_has_changes() -> None:
    assert chains_of() == [[(0, 0), (1, 0), (2, 0)], [(3, 0), (4, 0)], [(5, 0)]]
    assert chains_of({FIRST: 1}, {FIRST: 2}) == [
        [(0, 0), (1, 0), (2, 0)],
        [(1, 1), (2, 1)],
        [(1, 2), (2, 2)],
        [(3, 0), (4, 0)],
        [(5, 0)],
    ]


def test_what_another_loop_has_waits_for_its_end() -> None:
    chains = chains_of({SECOND: 3}, {})
    assert chains == [[(0, 0), (1, 0), (2, 0)], [(3, 0), (4, 0)], [(1, 1), (2, 1), (3, 1), (4, 1)], [(5, 0)]]


def test_the_lowest_level_of_all_tasks_has_its_turn() -> None:
    repetitions = Repetitions()
    chains = repetitions.chains(STAGES)
    next(chains)
    for level in (7, 4, 9):
        repetitions.note({FIRST: level})
    assert [turn.levels for turn in next(chains)] == [{FIRST: 4}] * 2


def test_numbers_of_turns_ascend_by_repetition_within_a_stage() -> None:
    numbers = [Turn(stage, repetition).number for repetition in range(3) for stage in range(4)]
    assert numbers == sorted(set(numbers))
