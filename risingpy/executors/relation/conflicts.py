"""Decides between several rows of one key: CREATE TABLE … ON CONFLICT, and WITH VERSION COLUMN.

A key's history begins with its stored row, if there is one, as an insertion. The log's changes of the key follow, in
log order. A deletion makes all before it void; the insertions after the last deletion are the *candidates*.

    ON CONFLICT DO UPDATE FULL          keeps the last candidate
    ON CONFLICT DO NOTHING              keeps the first one
    ON CONFLICT DO UPDATE IF NOT NULL   keeps each column's last value that is not NULL
    WITH VERSION COLUMN (v, w)          drops a candidate whose (v, w) is less than one before it; NULL is least
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.executors.change_chunk import DELETE, INSERT, Mask, Ops
from risingpy.types.wide_numeric import key_column

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ConflictRule:
    """How a key's candidates become one row; `versions` are the positions of the version columns."""

    keep_first: bool = False
    fill_nulls: bool = False
    versions: tuple[int, ...] = ()


def standing_rows(
    rule: ConflictRule, ops: Ops, columns: Sequence[pa.Array], keys: Positions, count: int
) -> tuple[Mask, list[pa.Array]]:
    """For each of `count` keys, whether it has a row in the end, and that row's columns.

    `ops` and `columns` are the histories of all keys, each in order; `keys` has the key's number of each entry.
    """
    candidates = _candidates(ops, keys, count)
    owners = keys[candidates]
    if rule.versions:
        taken = pa.array(candidates)
        newest = _never_older([columns[each].take(taken) for each in rule.versions], owners)
        candidates, owners = candidates[newest], owners[newest]
    chosen = np.full(count, -1, np.int64)
    if rule.keep_first:
        chosen[owners[::-1]] = candidates[::-1]
    else:
        chosen[owners] = candidates  # later candidates overwrite earlier ones
    if not rule.fill_nulls:
        return chosen >= 0, [_taken(column, chosen) for column in columns]
    return chosen >= 0, [_taken(column, _last_values(column, candidates, owners, count)) for column in columns]


def _candidates(ops: Ops, keys: Positions, count: int) -> Positions:
    """The positions of the candidates, sorted by key; those of one key stay in order."""
    positions = np.arange(len(ops))
    last_deletion = np.full(count, -1, np.int64)
    deletions = np.flatnonzero(ops == DELETE)
    last_deletion[keys[deletions]] = deletions
    alive = np.flatnonzero((ops == INSERT) & (positions > last_deletion[keys]))
    return alive[np.argsort(keys[alive], kind="stable")]


def _never_older(versions: Sequence[pa.Array], owners: Positions) -> Mask:
    """Which candidates have versions that are no less than the versions before them, of the same key.

    `versions` are columns, compared in order: a later one counts where the earlier ones are equal.
    """
    ranks = _ranks(versions[0])
    for later in versions[1:]:
        finer = _ranks(later)
        # Numbered anew after each column: so the product stays below the square of the number of candidates.
        ranks = np.unique(ranks * (int(finer.max(initial=0)) + 1) + finer, return_inverse=True)[1].astype(np.int64)
    # Adding a multiple of the key's number puts a key's ranks above all ranks of the keys before it. So one running
    # maximum over all candidates gives each key's own.
    ranks += owners * (int(ranks.max(initial=0)) + 1)
    newest: Mask = ranks == np.maximum.accumulate(ranks)
    return newest


def _ranks(values: pa.Array) -> Positions:
    """The place of each value among the different ones, from 1 on; 0 for NULL."""
    if pa.types.is_binary(values.type):  # a numeric without declared digits: 1.5 and 1.50 are one number
        values = key_column(values)
    ranks: Positions = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    ranks[values.is_null().to_numpy(zero_copy_only=False)] = 0
    return ranks


def _last_values(column: pa.Array, candidates: Positions, owners: Positions, count: int) -> Positions:
    """For each key, the position of its last candidate that is not NULL in the column; -1 if all are NULL."""
    given = column.is_valid().to_numpy(zero_copy_only=False)[candidates]
    last = np.full(count, -1, np.int64)
    last[owners[given]] = candidates[given]
    return last


def _taken(column: pa.Array, positions: Positions) -> pa.Array:
    return column.take(pa.array(positions, mask=positions < 0))
