"""In how many bits a graph keeps the reals of its vectors.

What a search costs is to fetch vectors from memory: of halves (11 bits of precision) that is half as much. A row's
distance is computed of the stored vector anyway, so halves can only lead the search astray, and they do where vectors
that are far from 0 are close together: the places of a town in degrees, say. So a sample decides.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float32]

LARGEST_HALF = 65_504.0
_SAMPLE = 512
_SMALLEST_SAMPLE = 100
# Of the distance to the nearest of a sample. A million rows are closer to each other than 512, by a factor of 45 if
# they lie in a plane, of 2 if they have 12 independent dimensions.
_ROUNDED_AWAY = 0.001


class RealForm(Enum):
    """The value is what usearch calls it."""

    SINGLE = "f32"
    HALF = "f16"


def form_for(vectors: Reals, *, directed: bool) -> RealForm:
    """The form for a graph that begins with these vectors; `directed`: its halves are of vectors of length 1."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)][:_SAMPLE].astype(np.float64)
    if directed:
        sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    if len(sample) < _SMALLEST_SAMPLE or np.abs(sample).max() > LARGEST_HALF:
        return RealForm.SINGLE
    halves = sample.astype(np.float16).astype(np.float64)
    rounded_away = np.sqrt(np.mean(np.sum((sample - halves) ** 2, axis=1)))
    return RealForm.HALF if rounded_away <= _ROUNDED_AWAY * _usual_nearest(sample) else RealForm.SINGLE


def _usual_nearest(sample: npt.NDArray[np.float64]) -> float:
    """The median distance from a vector to the nearest of the others."""
    squares = np.einsum("ij,ij->i", sample, sample)
    between = squares[:, None] + squares[None, :] - 2 * (sample @ sample.T)
    np.fill_diagonal(between, np.inf)
    return float(np.sqrt(max(0.0, np.median(between.min(axis=1)))))
