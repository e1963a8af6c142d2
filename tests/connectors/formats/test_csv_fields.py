"""Fields of lines, all at once, as Python's csv module reads them one by one."""

from __future__ import annotations

import csv
import random

import pyarrow as pa
import pytest

from risingpy.connectors.formats import csv_fields
from risingpy.connectors.formats.csv_fields import fields_of, header_fields


def fields_alone(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), []) or [""]
    except csv.Error:
        return []


@pytest.mark.parametrize("alphabet", ["ab,", 'a",', 'a", \r\n', "a;é"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_lines(alphabet: str, count: int) -> None:
    chance = random.Random(5)
    for _ in range(300):
        lines = ["".join(chance.choices(alphabet, k=chance.randrange(7))) for _ in range(chance.randrange(6))]
        expected = [fields_alone(line) for line in lines]
        chosen = sorted(chance.sample(range(count), chance.randrange(1, count + 1)))
        found = fields_of(pa.array(lines, pa.string()), ",", count, chosen)
        wrong = {row: fields for row, fields in enumerate(expected) if len(fields) != count}
        assert found.wrong.keys() == wrong.keys()
        assert all(found.wrong[row].startswith(f"{len(f)} fields" if f else "invalid CSV") for row, f in wrong.items())
        rows = [row for row, fields in enumerate(expected) if len(fields) == count]
        assert found.rows.tolist() == rows
        assert [column.to_pylist() for column in found.columns] == [[expected[row][k] for row in rows] for k in chosen]


def test_lines_with_quotes_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those that Arrow would take for others are: of 1,000, the one whose quote is not closed."""
    alone: list[int] = []
    read_alone = csv_fields._read_alone

    def counted(lines: pa.Array, delimiter: str, count: int, chosen: list[int]) -> csv_fields.CsvFields:
        alone.append(len(lines))
        return read_alone(lines, delimiter, count, chosen)

    monkeypatch.setattr(csv_fields, "_read_alone", counted)
    lines = [f'{k},"a, ""{k}"""' for k in range(999)] + ['999,"open']
    found = fields_of(pa.array(lines), ",", 2, [1])
    assert found.columns[0].to_pylist() == [f'a, "{k}"' for k in range(999)] + ["open"]
    assert alone == [1]


def test_a_header() -> None:
    assert header_fields('id,"a, b",é'.encode(), ",") == ["id", "a, b", "é"]
    assert header_fields(b"", ",") == []
