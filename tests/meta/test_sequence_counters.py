"""Where sequences stand: no number twice, whatever happens to the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.errors import SqlError
from risingpy.meta.writing.sequence_counters import SequenceCounters, SequencePosition
from risingpy.plan.catalog import Catalog, Counting, NumberSequence
from risingpy.plan.catalog.sequences import COLUMNS
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.types import BIGINT

LEAST, GREATEST = -(2**63), 2**63 - 1


def sequence(
    start: int = 1, increment: int = 1, minimum: int = 1, maximum: int = GREATEST, *, cycles: bool = False, key: int = 7
) -> NumberSequence:
    counting = Counting(BIGINT, start, increment, minimum, maximum, cycles)
    return NumberSequence(key, "public", "s", COLUMNS, counting=counting)


def test_numbers_go_on_after_a_stop(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters, one, other = SequenceCounters(store), sequence(), sequence(key=8)
    assert [counters.next(one, count).tolist() for count in (1, 3, 2)] == [[1], [2, 3, 4], [5, 6]]
    assert counters.next(other, 1).tolist() == [1]
    counters.close()
    assert SequenceCounters(store).next(one, 1).tolist() == [7]
    store.close()


@pytest.mark.parametrize("count", [1, 5000])
def test_no_number_comes_twice_after_a_crash(tmp_path: Path, count: int) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    given = SequenceCounters(store).next(sequence(), count)
    assert SequenceCounters(store).next(sequence(), 1)[0] > given.max()
    store.close()


def test_many_numbers_cost_few_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters, commits = SequenceCounters(store), [0]
    written = store._environment.write

    def counted(*args: object) -> None:
        commits[0] += 1
        written(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(store._environment, "write", counted)
    taken = [int(counters.next(sequence(), 1)[0]) for _ in range(3000)]
    assert taken == list(range(1, 3001))
    assert commits[0] <= 4
    store.close()


@pytest.mark.parametrize(
    ("made", "count", "expected"),
    [
        (sequence(maximum=3, cycles=True), 7, [1, 2, 3, 1, 2, 3, 1]),
        (sequence(start=2, minimum=0, maximum=3, increment=2, cycles=True), 4, [2, 0, 2, 0]),
        (sequence(start=-1, increment=-1, minimum=-3, maximum=-1), 3, [-1, -2, -3]),
        (sequence(start=-1, increment=-2, minimum=-4, maximum=-1, cycles=True), 4, [-1, -3, -1, -3]),
        (sequence(start=LEAST, minimum=LEAST), 2, [LEAST, LEAST + 1]),
        (sequence(start=GREATEST - 1), 2, [GREATEST - 1, GREATEST]),
        (sequence(start=LEAST, minimum=LEAST, increment=GREATEST), 3, [LEAST, -1, GREATEST - 1]),
    ],
)
def test_numbers_between_the_bounds(tmp_path: Path, made: NumberSequence, count: int, expected: list[int]) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    together, alone = SequenceCounters(store), replace_key(made, 9)
    assert together.next(made, count).tolist() == expected
    one_by_one = SequenceCounters(store)
    assert [int(one_by_one.next(alone, 1)[0]) for _ in range(count)] == expected
    store.close()


def replace_key(made: NumberSequence, key: int) -> NumberSequence:
    return NumberSequence(key, "public", "s", COLUMNS, counting=made.counting)


def test_at_the_end_nothing_is_taken(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters, made = SequenceCounters(store), sequence(maximum=5)
    counters.next(made, 3)
    with pytest.raises(SqlError, match=r'reached maximum value of sequence "s" \(5\)') as refused:
        counters.next(made, 3)
    assert refused.value.sqlstate == "2200H"
    assert counters.next(made, 2).tolist() == [4, 5]
    store.close()


def test_given_numbers_are_passed_by(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    counters, made = SequenceCounters(store), sequence(increment=10)
    for number in (101, 50):
        counters.pass_by(made, number)
    assert counters.next(made, 1).tolist() == [111]
    assert SequenceCounters(store).next(made, 1)[0] > 111
    store.close()


def test_a_position_is_durable_at_once(tmp_path: Path) -> None:
    store = MetaStore(tmp_path, map_size=1 << 20)
    SequenceCounters(store).put(sequence(), SequencePosition(40, called=False))
    assert SequenceCounters(store).next(sequence(), 2).tolist() == [40, 41]
    dropped = SequenceCounters(store)
    dropped.keep_only(Catalog())
    assert SequenceCounters(store).next(sequence(), 1).tolist() == [1]
    store.close()
