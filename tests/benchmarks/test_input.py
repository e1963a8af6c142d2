"""The generator and the epochs' files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.epoch_files import FORMATS, read_arrow, release_epoch, write_epochs
from benchmarks.nexmark import AUCTIONS, BIDDERS, Generator
from benchmarks.recovery import events
from benchmarks.retract import LOADS_PER_CHANGE, changes, csv_block


def test_a_block_depends_on_seed_and_number_only() -> None:
    generator = Generator(seed=3)
    block = generator.bids(5, 100)
    generator.bids(6, 100)
    assert generator.bids(5, 100) == block == Generator(seed=3).bids(5, 100)
    assert generator.bids(6, 100) != block
    assert Generator(seed=4).bids(5, 100) != block


def test_bids_are_in_range_and_skewed() -> None:
    bids = Generator().bids(0, 20_000).to_pydict()
    assert all(0 <= auction < AUCTIONS for auction in bids["auction"])
    assert all(0 <= bidder < BIDDERS for bidder in bids["bidder"])
    assert min(bids["price"]) > 0
    counts: dict[int, int] = {}
    for auction in bids["auction"]:
        counts[auction] = counts.get(auction, 0) + 1
    assert max(counts.values()) > 20 * len(bids["auction"]) / AUCTIONS


def test_time_goes_on_from_block_to_block() -> None:
    first, second = (Generator().bids(block, 50).column("date_time").to_pylist() for block in (0, 1))
    assert first == sorted(first)
    assert first[-1] < second[0]


def test_auctions_and_persons_have_ids_of_their_own() -> None:
    generator = Generator()
    ids = [id_ for block in range(3) for id_ in generator.auctions(block, 10).column("id").to_pylist()]
    assert ids == list(range(30))
    assert generator.persons(2, 10).column("id").to_pylist() == list(range(20, 30))


def test_both_formats_hold_the_same_rows(tmp_path: Path) -> None:
    tables = [Generator().bids(number, 100) for number in range(2)]
    assert write_epochs(iter(tables), tmp_path) == 2
    assert read_arrow(tmp_path, 1).equals(tables[1])
    assert pq.read_table(tmp_path / "000001.parquet").equals(tables[1])
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for file_format in FORMATS:
        release_epoch(tmp_path, 1, file_format, inbox)
    assert sorted(path.name for path in inbox.iterdir()) == ["000001.arrow", "000001.parquet"]


def test_a_third_of_the_bids_changes() -> None:
    statements = changes(100, 6)
    assert [statement.split()[0] for statement in statements] == ["UPDATE", "DELETE"]
    assert "id >= 300 AND id < 600 AND id % 3 = 0" in statements[1]
    assert len(statements) * LOADS_PER_CHANGE == 6


def test_loads_have_consecutive_ids() -> None:
    lines = csv_block(2, 10).decode().splitlines()
    assert [int(line.split(",")[0]) for line in lines] == list(range(20, 30))
    assert all(line.count(",") == 5 for line in lines)


def test_recovery_has_each_key_and_then_some_again() -> None:
    *loads, again = events(1_200_000)
    assert [table.num_rows for table in loads] == [500_000, 500_000, 200_000]
    keys = again.column("k").to_pylist()
    assert len(set(keys)) == len(keys)
    assert 0 <= min(keys) <= max(keys) < 1_200_000
