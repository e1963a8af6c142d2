from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from risingpy.errors import CannotConnectNow, SqlError
from risingpy.storage.journal.entries import FenceEntry, MetaEntry
from risingpy.storage.journal.journal import Journal, Patience
from risingpy.storage.journal.leadership import Fenced, fence, take_term
from risingpy.storage.journal.reading import read_record, read_version
from risingpy.storage.objects.object_store import StateUnavailable
from tests.storage.journal.memory_objects import MemoryObjects

QUICK = Patience(looks=0.05, first_pause=0.001, longest_pause=0.01)
IMPATIENT = Patience(serves=0.1, writes=0.3, looks=0.05, first_pause=0.001, longest_pause=0.01)
opened: list[Journal] = []


@pytest.fixture(autouse=True)
def _close_all() -> Iterator[None]:
    yield
    while opened:
        opened.pop().close()


def lead(objects: MemoryObjects, patience: Patience = QUICK, lost: list[SqlError] | None = None) -> Journal:
    term = take_term(objects, "host:1")
    journal = Journal(
        objects, fence(objects, term, "host:1"), term, patience=patience, on_lost=([] if lost is None else lost).append
    )
    opened.append(journal)
    return journal


def test_entries_are_in_one_order_and_share_puts() -> None:
    objects = MemoryObjects()
    journal = lead(objects)
    gate, first = threading.Event(), threading.Event()

    def hold(operation: str, name: str) -> None:
        if operation == "put" and name.startswith("j/") and not gate.is_set():
            first.set()
            gate.wait(10)

    objects.before = hold
    with ThreadPoolExecutor(9) as pool:
        begun = pool.submit(journal.append, MetaEntry({"k0": b"0"}))
        assert first.wait(10)
        others = [pool.submit(journal.append, MetaEntry({f"k{n}": b"1"})) for n in range(1, 9)]
        while len(journal._waiting) < 8:
            threading.Event().wait(0.001)
        gate.set()
        slots = [future.result(10) for future in (begun, *others)]
    assert slots == [1] + [2] * 8
    record = read_record(objects, 2)
    assert record is not None
    assert len(record.entries) == 8
    assert read_version(objects).meta.keys() == {f"k{n}" for n in range(9)}


@pytest.mark.parametrize("seed", range(20))
def test_puts_whose_answers_are_lost_are_neither_lost_nor_doubled(seed: int) -> None:
    import random

    objects = MemoryObjects(random.Random(seed), failures=100, lost_puts=400)
    journal = lead(objects)
    slots = [journal.append(MetaEntry({str(number): b""})) for number in range(30)]
    assert slots == list(range(slots[0], slots[0] + 30))
    found = [read_record(objects, slot) for slot in slots]
    assert [list(r.entries[0].written) for r in found if r and isinstance(r.entries[0], MetaEntry)] == [
        [str(number)] for number in range(30)
    ]


def test_the_leader_before_cannot_write() -> None:
    objects, lost = MemoryObjects(), list[SqlError]()
    old = lead(objects, Patience(looks=60), lost)
    old.append(MetaEntry({"a": b"old"}))
    new = lead(objects, Patience(looks=60))
    with pytest.raises(Fenced, match="another server has taken over") as refused:
        old.append(MetaEntry({"a": b"too late"}))
    assert (refused.value.sqlstate, refused.value.severity) == ("57P03", "FATAL")
    assert [type(error) for error in lost] == [Fenced]
    with pytest.raises(Fenced):
        old.append(MetaEntry({"a": b"again"}))
    with pytest.raises(Fenced):
        old.refuse_unconfirmed()
    new.append(MetaEntry({"b": b"new"}))
    assert read_version(objects).meta == {"a": b"old", "b": b"new"}


def test_an_idle_leader_learns_that_it_does_not_lead_any_more() -> None:
    objects, lost = MemoryObjects(), list[SqlError]()
    old = lead(objects, QUICK, lost)
    old.refuse_unconfirmed()
    take_term(objects, "host:2")
    deadline = threading.Event()
    for _ in range(1000):
        if lost:
            break
        deadline.wait(0.01)
    assert isinstance(lost[0], Fenced)
    assert "host:2 leads, with term 2" in (lost[0].detail or "")


def test_of_many_that_start_at_once_one_leads() -> None:
    objects = MemoryObjects()

    def start(number: int) -> Journal | None:
        try:
            journal = lead(objects, Patience(looks=60))
            journal.append(MetaEntry({f"s{number}": b""}))
        except Fenced:
            return None
        return journal

    with ThreadPoolExecutor(6) as pool:
        journals = list(pool.map(start, range(6)))
    leaders = []
    for journal in journals:
        try:
            if journal is not None:
                journal.append(MetaEntry({"last": str(journal.term).encode()}))
                leaders.append(journal.term)
        except Fenced:
            pass
    version = read_version(objects)
    assert leaders == [version.term]
    assert version.meta["last"] == str(version.term).encode()


def test_a_leader_without_storage_answers_nobody_and_ends() -> None:
    objects, lost = MemoryObjects(), list[SqlError]()
    journal = lead(objects, IMPATIENT, lost)

    def fail(operation: str, name: str) -> None:
        raise StateUnavailable("503")

    objects.before = fail
    pause = threading.Event()
    for _ in range(1000):
        try:
            journal.refuse_unconfirmed()
        except CannotConnectNow as error:
            assert error.sqlstate == "57P03"
            break
        pause.wait(0.005)
    else:
        pytest.fail("it goes on answering")
    for _ in range(1000):
        if lost:
            break
        pause.wait(0.005)
    assert isinstance(lost[0], StateUnavailable)
    objects.before = lambda operation, name: None
    with pytest.raises(StateUnavailable):
        journal.append(MetaEntry({"a": b""}))  # it may have been believed dead for long


def test_a_leader_that_slept_for_days_finds_its_slot_free_and_does_not_believe_it() -> None:
    """Others have gone on, and the slots that they used have been vacuumed."""
    objects = MemoryObjects()
    old = lead(objects, Patience(looks=600, serves=0.01))
    new = lead(objects, Patience(looks=600))
    new.append(MetaEntry({"a": b"new"}))
    for name in [name for name in objects.stored if name.startswith("j/")]:
        objects.delete(name)
    threading.Event().wait(0.02)
    with pytest.raises(Fenced):
        old.append(MetaEntry({"a": b"old"}))


def test_a_fence_is_the_first_record_of_its_term() -> None:
    objects = MemoryObjects()
    journal = lead(objects)
    record = read_record(objects, 0)
    assert record is not None
    assert (record.term, record.entries) == (journal.term, (FenceEntry("host:1"),))
