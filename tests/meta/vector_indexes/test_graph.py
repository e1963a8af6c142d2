"""One graph by itself: what it keeps while its rows change for ever."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.meta.vector_indexes.graph import Reals, VectorGraph
from risingpy.plan.catalog import NearestRule
from risingpy.types import INTEGER
from risingpy.types.packed.float_vector import column_of

ROWS, DIMENSIONS = 500, 8


def stored(vectors: Reals) -> pa.Array:
    return column_of(vectors.ravel(), np.arange(len(vectors) + 1) * DIMENSIONS)


def test_a_graph_whose_rows_change_for_ever_does_not_grow() -> None:
    random = np.random.default_rng(3)
    vectors = random.random((ROWS, DIMENSIONS), dtype=np.float32)
    graph = VectorGraph(NearestRule("l2_distance"), DIMENSIONS, [INTEGER])

    def add(rows: npt.NDArray[np.integer]) -> None:
        graph.add([pa.array(rows, pa.int32())], stored(vectors[rows]))

    add(np.arange(ROWS))
    sizes = set()
    for _ in range(30):
        changed = np.sort(random.choice(ROWS, 100, replace=False))
        graph.remove([pa.array(changed, pa.int32())])
        vectors[changed] = random.random((len(changed), DIMENSIONS), dtype=np.float32)
        add(changed)
        sizes.add((len(graph), len(graph._keys), graph._index.capacity))
    assert sizes == {(ROWS, ROWS, graph._index.capacity)}
    found = 0
    for wanted in random.random((20, DIMENSIONS), dtype=np.float32):
        nearest = np.argsort(((vectors - wanted) ** 2).sum(axis=1))[:10]
        keys = graph.nearest(stored(wanted.reshape(1, -1))[0].as_py(), 10, 64)
        found += len({key for (key,) in keys} & set(nearest.tolist()))
    assert found >= 0.95 * 200
