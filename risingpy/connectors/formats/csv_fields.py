"""Lines of CSV become fields. Arrow reads all lines at once; Python's csv module those that Arrow would misread.

Arrow goes on with the next line where a quote is not closed, so that one line would make others wrong. Then there are
fewer rows than lines, and lines with quotes are read one by one.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from risingpy.connectors.formats.columns import Positions
from risingpy.types.plain_texts import content_of

Mask = npt.NDArray[np.bool_]
_LONGEST_BLOCK = 1 << 30


@dataclass(frozen=True, slots=True)
class CsvFields:
    """The chosen fields of the lines `rows`, which ascend; `wrong` says what is wrong with each other one."""

    rows: Positions
    columns: Sequence[pa.Array]
    wrong: dict[int, str]


def fields_of(lines: pa.Array, delimiter: str, count: int, chosen: Sequence[int]) -> CsvFields:
    """The fields `chosen` of `lines` (strings, none NULL), each of which should have `count`."""
    content = content_of(lines)
    with_quotes = odd = np.zeros(len(lines), bool)
    # Most lines have neither quotes nor breaks: looking through all bytes at once costs far less than line by line.
    if b'"' in content:
        with_quotes = _true(pc.match_substring(lines, '"'))
        odd = _true(pc.equal(pc.bit_wise_and(pc.count_substring(lines, '"'), 1), 1))
    alone = odd | _true(pc.equal(pc.binary_length(lines), 0))  # Arrow gives an empty line as many fields as needed
    if b"\r" in content or b"\n" in content:
        alone |= _true(pc.match_substring_regex(lines, "[\r\n]"))
    if not delimiter.isascii() or lines.nbytes > _LONGEST_BLOCK:
        alone = np.ones(len(lines), bool)
    for one_by_one in (alone, alone | with_quotes):
        together = np.flatnonzero(~one_by_one)
        found = _read_together(_taken(lines, together), delimiter, count, chosen)
        if found is not None:
            break
    else:
        together, found = np.arange(0), CsvFields(np.arange(0), [pa.array([], pa.string())] * len(chosen), {})
        one_by_one = np.ones(len(lines), bool)
    rest = np.flatnonzero(one_by_one)
    return _merged(_placed(found, together), _placed(_read_alone(_taken(lines, rest), delimiter, count, chosen), rest))


def header_fields(line: bytes, delimiter: str) -> list[str]:
    """The names that a file's first line has."""
    try:
        return next(csv.reader([line.decode("utf-8", "replace")], delimiter=delimiter), [])
    except csv.Error:
        return []


def _read_together(lines: pa.Array, delimiter: str, count: int, chosen: Sequence[int]) -> CsvFields | None:
    """The fields of all lines; None if they cannot be told from each other."""
    wrong: dict[int, str] = {}

    def left_out(row: arrow_csv.InvalidRow) -> str:
        wrong[row.number - 1] = _another_number(row.actual_columns, count)
        return "skip"

    if not len(lines):
        return CsvFields(np.arange(0), [pa.array([], pa.string())] * len(chosen), {})
    text = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), "\n")[0].as_buffer()
    names = [str(k) for k in range(count)]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
            arrow_csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=left_out),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=[names[k] for k in chosen],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    rows = np.delete(np.arange(len(lines)), list(wrong))
    if chosen and table.num_rows != len(rows):
        return None
    return CsvFields(rows, [column.combine_chunks() for column in table.columns], wrong)


def _read_alone(lines: pa.Array, delimiter: str, count: int, chosen: Sequence[int]) -> CsvFields:
    found: dict[int, list[str]] = {}
    wrong: dict[int, str] = {}
    for row, line in enumerate(lines.to_pylist()):
        try:
            fields = next(csv.reader([line], delimiter=delimiter), []) or [""]
        except csv.Error as error:
            wrong[row] = f"invalid CSV: {error}"
            continue
        if len(fields) == count:
            found[row] = fields
        else:
            wrong[row] = _another_number(len(fields), count)
    columns = [pa.array([fields[k] for fields in found.values()], pa.string()) for k in chosen]
    return CsvFields(np.array(list(found), np.int64), columns, wrong)


def _another_number(count: int, expected: int) -> str:
    return f"{count} fields instead of {expected}"


def _placed(found: CsvFields, lines: Positions) -> CsvFields:
    """Fields of some lines, `lines`, by the places of these among all."""
    return CsvFields(lines[found.rows], found.columns, {int(lines[row]): why for row, why in found.wrong.items()})


def _merged(first: CsvFields, second: CsvFields) -> CsvFields:
    if not len(second.rows) and not second.wrong:
        return first
    rows = np.concatenate([first.rows, second.rows])
    order = np.argsort(rows)
    columns = [
        pa.concat_arrays([one, other]).take(pa.array(order))
        for one, other in zip(first.columns, second.columns, strict=True)
    ]
    return CsvFields(rows[order], columns, {**first.wrong, **second.wrong})


def _taken(lines: pa.Array, rows: Positions) -> pa.Array:
    return lines if len(rows) == len(lines) else lines.take(pa.array(rows))


def _true(values: pa.Array) -> Mask:
    found: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return found
