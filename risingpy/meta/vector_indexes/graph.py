"""A graph over the vectors of a column, which finds those nearest to one (usearch's HNSW).

Y. Malkov, D. Yashunin, Efficient and robust approximate nearest neighbor search using hierarchical navigable small
world graphs, 2016. A row's number in the graph is its *label*. A vector that changes leaves the graph and comes again:
the library gives a removed one's place to a later one, and so are labels given again. Both stay as many as there were
rows at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from risingpy.functions.aggregate.grouping import encoded_rows
from risingpy.meta.vector_indexes.reals import LARGEST_HALF, RealForm, Reals, form_for
from risingpy.plan.catalog import NearestRule
from risingpy.types import SqlType
from risingpy.types.far_moments import values_of
from risingpy.types.packed.float_vector import reals_of, to_reals

# Canonical names of distances, and what the library calls what orders vectors in the same way.
METRICS = {"l2_distance": "l2sq", "negative_inner_product": "ip", "cosine_distance": "cos"}


_KEPT = 7 / 8  # of what a search was thought to take, when another one has been measured


class BeyondHalf(Exception):
    """A graph of halves gets a vector that they cannot hold: it must be built again of whole reals."""


class VectorGraph:
    """The vectors of `dimensions` dimensions, by the keys of their rows. Any thread may call it.

    The vectors that come first decide in which form it keeps reals, unless that is given.
    """

    def __init__(
        self, rule: NearestRule, dimensions: int, key_types: Sequence[SqlType], form: RealForm | None = None
    ) -> None:
        """Raises ImportError if the library is not installed."""
        self._rule = rule
        self._is_of_directions = rule.distance == "cosine_distance"
        self.dimensions = dimensions
        self._key_types = tuple(key_types)
        self._library: Any = import_module("usearch.index")
        self._form = form
        self._index: Any = None  # until there are vectors
        self._guard = threading.Lock()
        self._labels: dict[bytes, int] = {}
        self._keys: list[tuple[object, ...] | None] = []  # by label; None where the row is gone
        self._free: list[int] = []  # labels whose rows are gone
        self._seconds = 0.0  # of a search, by candidate

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def form(self) -> RealForm | None:
        """None while there are no vectors."""
        return self._form

    def _empty_index(self, form: RealForm) -> Any:
        return self._library.Index(
            ndim=self.dimensions,
            metric=METRICS[self._rule.distance],
            dtype=form.value,
            connectivity=self._rule.connectivity,
            expansion_add=self._rule.construction,
        )

    def remove(self, keys: Sequence[pa.Array]) -> None:
        """The rows of these keys, one column per key column, have gone or will come again; some may not be there."""
        with self._guard:
            found = [self._labels.pop(key, None) for key in self._encoded(keys)]
            labels = [label for label in found if label is not None]
            for label in labels:
                self._keys[label] = None
            if labels:
                self._index.remove(np.array(labels, np.uint64))
                self._free += labels

    def add(self, keys: Sequence[pa.Array], vectors: pa.Array, threads: int = 1) -> None:
        """Adds rows whose keys are not there. Those without a vector, and of cosines those of zeros, are left out.

        Raises BeyondHalf, and has added nothing then.
        """
        keep = vectors.is_valid()
        reals = self._matrix(vectors.filter(keep))
        if self._is_of_directions:
            directed = reals.any(axis=1)
            positions = pa.array(np.flatnonzero(keep.to_numpy(zero_copy_only=False))[directed])
            reals, keys = reals[directed], [column.take(positions) for column in keys]
        else:
            keys = [column.filter(keep) for column in keys]
        if not len(reals):
            return
        values = list(zip(*(values_of(column) for column in keys), strict=True))
        with self._guard:
            if self._index is None:
                self._form = self._form or form_for(reals, directed=self._is_of_directions)
                self._index = self._empty_index(self._form)
            held = self._held(reals)
            if held is None:
                raise BeyondHalf
            labels = self._labels_for(values)
            self._labels.update(zip(self._encoded(keys), labels, strict=True))
            self._index.add(np.array(labels, np.uint64), held, threads=threads)

    def _labels_for(self, values: Sequence[tuple[object, ...]]) -> list[int]:
        """A label for each of the keys; the caller has the guard."""
        again = min(len(values), len(self._free))
        labels = [self._free.pop() for _ in range(again)]
        for label, value in zip(labels, values, strict=False):
            self._keys[label] = value
        labels += range(len(self._keys), len(self._keys) + len(values) - again)
        self._keys += values[again:]
        return labels

    def nearest(self, vector: bytes, count: int, candidates: int) -> list[tuple[object, ...]]:
        """The keys of up to `count` rows, nearest first, found among so many `candidates`.

        None are found for a vector that the graph's form of reals cannot hold.
        """
        with self._guard:
            return self._nearest(vector, count, candidates)

    def nearest_to_each(
        self, vectors: Sequence[bytes], count: int, candidates: int, threads: int
    ) -> list[list[tuple[object, ...]]]:
        """As `nearest`, for each of the vectors, on so many threads."""
        with self._guard:
            held = [self._held(to_reals(vector).reshape(1, -1)) for vector in vectors]
            asked = [each for each in held if each is not None]
            if len(asked) < 2:  # the library gives one answer in another form
                return [self._nearest(vector, count, candidates) for vector in vectors]
            if not self._labels:
                return [[] for _ in vectors]
            self._index.expansion_search = max(candidates, count)
            began = time.perf_counter()
            matches = self._index.search(np.concatenate(asked), count, threads=threads)
            elapsed = time.perf_counter() - began
            self._note(elapsed * min(threads, len(asked)) / len(asked), candidates)
            found = (self._keys_of(matches[i].keys.tolist()) for i in range(len(asked)))
            return [[] if each is None else next(found) for each in held]

    def seconds_of(self, candidates: int) -> float:
        """What a search took lately, on one core."""
        return self._seconds * candidates

    def _note(self, seconds: float, candidates: int) -> None:
        measured = seconds / candidates
        self._seconds = _KEPT * self._seconds + (1 - _KEPT) * measured if self._seconds else measured

    def nearest_now(self, vector: bytes, count: int, candidates: int) -> list[tuple[object, ...]] | None:
        """As `nearest`; None if another thread changes or searches the graph. Never blocks."""
        if not self._guard.acquire(blocking=False):
            return None
        try:
            return self._nearest(vector, count, candidates)
        finally:
            self._guard.release()

    def _nearest(self, vector: bytes, count: int, candidates: int) -> list[tuple[object, ...]]:
        """The caller has the guard."""
        if not self._labels:
            return []
        asked = self._held(to_reals(vector).reshape(1, -1))
        if asked is None:
            return []
        self._index.expansion_search = max(candidates, count)
        began = time.thread_time()
        found = self._index.search(asked[0], count, threads=1)
        self._note(time.thread_time() - began, candidates)
        return self._keys_of(found.keys.tolist())

    def _keys_of(self, labels: Sequence[int]) -> list[tuple[object, ...]]:
        keys = [self._keys[label] for label in labels]
        return [key for key in keys if key is not None]

    def _held(self, reals: Reals) -> Reals | None:
        """The vectors as the index is given them; None if it cannot hold one. Of cosines halves hold any direction."""
        if self._form is not RealForm.HALF:
            return reals
        if self._is_of_directions:
            doubles = reals.astype(np.float64)
            lengths = np.linalg.norm(doubles, axis=1, keepdims=True)
            return (doubles / np.where(lengths == 0, 1, lengths)).astype(np.float32)
        return reals if np.abs(reals).max() <= LARGEST_HALF else None

    def _matrix(self, vectors: pa.Array) -> Reals:
        return reals_of(vectors)[0].reshape(-1, self.dimensions)

    def _encoded(self, keys: Sequence[pa.Array]) -> list[bytes]:
        encoded: list[bytes] = encoded_rows(keys, self._key_types, len(keys[0])).to_pylist()
        return encoded
