"""Lines of plain and compressed files: each in one range, wherever the file is cut."""

from __future__ import annotations

import gzip
import random
from itertools import pairwise

import pyarrow as pa
import pytest

from risingpy.connectors.seekable import HEADER, MESSAGES
from risingpy.connectors.stored_files import lines
from risingpy.connectors.stored_files.file_bytes import FileBytes
from risingpy.connectors.stored_files.lines import LineReader
from risingpy.connectors.stored_files.store import StoredFile
from risingpy.errors import SourceUnavailable
from tests.connectors.stored_files.files import Memory

BOM = b"\xef\xbb\xbf"


def content_of(chance: random.Random) -> bytes:
    pieces = [chance.choice([b"", b"a", b"bb\r", b"ccc", b"x,y"]) + b"\n" for _ in range(chance.randrange(12))]
    ends = chance.choice([b"", b"tail"])
    return chance.choice([b"", BOM]) + b"".join(pieces) + ends


@pytest.mark.parametrize("has_header", [False, True])
@pytest.mark.parametrize("name", ["f.csv", "f.csv.gz"])
def test_any_cut_gives_the_same_lines(monkeypatch: pytest.MonkeyPatch, name: str, has_header: bool) -> None:
    monkeypatch.setattr(lines, "READ_ON", 2)
    chance = random.Random(3)
    for _ in range(150):
        content = content_of(chance)
        stored = gzip.compress(content[:5]) + gzip.compress(content[5:]) + b"\0\0" if name.endswith("gz") else content
        reader = LineReader(FileBytes(Memory(**{name: stored})), has_header=has_header)
        ranges = list(
            pairwise(sorted({0, len(content), *(chance.randrange(len(content) + 1) for _ in range(4))})),
        )
        chance.shuffle(ranges)
        found: list[tuple[int, bytes]] = []
        for start, end in ranges:
            table = reader.read(name, start, end)
            table.validate(full=True)
            assert table.schema == MESSAGES
            places = table["offset"].to_pylist()
            assert all(start <= place < end for place in places)
            found += zip(places, table["payload"].to_pylist(), strict=True)
        all_lines = [line.removesuffix(b"\r") for line in content.removeprefix(BOM).split(b"\n")]
        expected = [line for line in all_lines[has_header:] if line]
        assert [line for _, line in sorted(found)] == expected
        assert all(content[place:].removeprefix(BOM if place == 0 else b"").startswith(line) for place, line in found)


def test_every_range_knows_the_header() -> None:
    reader = LineReader(FileBytes(Memory(f=BOM + b"id,name\r\n1,a\n2,b\n")), has_header=True)
    for start, end in ((0, 5), (5, 14), (14, 20)):
        assert reader.read("f", start, end).schema.metadata == {HEADER: b"id,name"}


def test_a_line_without_end_is_one_bad_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "READ_ON", 4)
    monkeypatch.setattr(lines, "LONGEST_LINE", 64)
    reader = LineReader(FileBytes(Memory(f=b"a\n" + b"x" * 10_000 + b"\nb\n")), has_header=False)
    rows = [row for start in range(0, 10_005, 1_001) for row in reader.read("f", start, start + 1_001).to_pylist()]
    assert [(row["offset"], row["payload"]) for row in rows] == [(0, b"a"), (2, None), (10_003, b"b")]


def test_ranges_in_order_read_a_compressed_file_once() -> None:
    """Also two at once, as two shards read them."""
    content = b"".join(b"%d,%d\n" % (k, k * k * 7919) for k in range(200_000))
    stored = gzip.compress(content, 1)
    memory = Memory(**{"f.gz": stored})
    source = FileBytes(memory)
    assert source.length(StoredFile("f.gz", len(stored))) == len(content)
    memory.bytes_read = 0
    reader = LineReader(source, has_header=False)
    tables = []
    for start in range(0, len(content), 200_000):
        middle, end = start + 100_000, min(start + 200_000, len(content))
        second, first = reader.read("f.gz", middle, end), reader.read("f.gz", start, middle)
        tables += [first, second]
    found = pa.concat_tables(tables)["payload"].to_pylist()
    assert found == content.split(b"\n")[:-1]
    assert memory.bytes_read <= 3 * len(stored)


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (gzip.compress(b"a\n" * 1000)[:-9], "ends in the middle of its gzip data"),
        (b"no gzip", "is no gzip file"),
        (b"", "ends in the middle of its gzip data"),
    ],
    ids=["cut", "no gzip", "empty"],  # not the bytes: the time stands in them
)
def test_damaged_compressed_files(stored: bytes, reason: str) -> None:
    with pytest.raises(SourceUnavailable, match=reason):
        FileBytes(Memory(**{"f.gz": stored})).length(StoredFile("f.gz", len(stored)))
    with pytest.raises(SourceUnavailable, match=reason):
        LineReader(FileBytes(Memory(**{"f.gz": stored})), has_header=False).read("f.gz", 0, 5_000)
