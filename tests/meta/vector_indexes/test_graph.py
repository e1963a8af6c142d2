"""One graph by itself: what it keeps while its rows change for ever."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from risingpy.meta.vector_indexes.graph import BeyondHalf, VectorGraph
from risingpy.meta.vector_indexes.reals import RealForm, Reals, form_for
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


def spread(count: int, dimensions: int = DIMENSIONS) -> Reals:
    return np.random.default_rng(5).standard_normal((count, dimensions)).astype(np.float32)


@pytest.mark.parametrize(
    ("vectors", "halves"),
    [
        (spread(1000, 64), True),
        (spread(1000, 64) * 1000, True),
        (spread(50, 64), False),  # too few to tell
        (spread(1000, 64) * 100_000, False),  # beyond the largest half
        (spread(1000, 64) * np.float32(1e-7), False),  # below the smallest
        (spread(1000, 64) + 1000, False),  # far from 0
        (spread(1000, 2) + np.array([48, 2]), False),  # places in a plane
        (np.repeat(spread(10, 64), 100, axis=0), False),  # no distance to the nearest
    ],
)
def test_halves_hold_what_they_round_little_of(vectors: Reals, halves: bool) -> None:
    assert (form_for(vectors.astype(np.float32), directed=False) is RealForm.HALF) == halves


def test_halves_hold_directions_of_any_length() -> None:
    """And a graph of them finds what one of whole reals finds."""
    random = np.random.default_rng(9)
    vectors = spread(400) * (10.0 ** random.uniform(-30, 18, (400, 1))).astype(np.float32)
    graphs = [VectorGraph(NearestRule("cosine_distance"), DIMENSIONS, [INTEGER], form) for form in RealForm]
    graphs.append(VectorGraph(NearestRule("cosine_distance"), DIMENSIONS, [INTEGER]))
    for graph in graphs:
        graph.add([pa.array(np.arange(400), pa.int32())], stored(vectors))
    assert graphs[-1].form is RealForm.HALF
    for scale in (1e-30, 1, 1e18):
        asked = (vectors[7] / np.linalg.norm(vectors[7].astype(np.float64)) * scale).astype(np.float32)
        first, *others = (graph.nearest(stored(asked.reshape(1, -1))[0].as_py(), 3, 64) for graph in graphs)
        assert first[0] == (7,)
        assert others == [first, first]


def test_a_vector_beyond_halves_is_told_of() -> None:
    graph = VectorGraph(NearestRule("l2_distance"), DIMENSIONS, [INTEGER], RealForm.HALF)
    graph.add([pa.array(np.arange(200), pa.int32())], stored(spread(200)))
    far = stored(np.full((1, DIMENSIONS), 70_000, np.float32))
    with pytest.raises(BeyondHalf):
        graph.add([pa.array([200], pa.int32())], far)
    assert len(graph) == 200
    assert graph.nearest(far[0].as_py(), 3, 64) == []
