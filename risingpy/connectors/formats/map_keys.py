"""The keys of maps: no map of SQL has a key twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from risingpy.connectors.formats.columns import Positions, Reasons


def refuse_repeated(keys: pa.Array, lengths: npt.NDArray[np.int64], owners: Positions, reasons: Reasons) -> None:
    """Makes messages bad whose maps have a key twice.

    `keys` are those of all maps, one map after the other; `lengths` how many each map has; `owners` the position of the
    message of each key.
    """
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    of_maps = np.repeat(np.arange(len(lengths)), lengths)
    _, first = np.unique(of_maps * (codes.max(initial=0) + 1) + codes, return_index=True)
    if len(first) == len(codes):
        return
    repeated = np.ones(len(codes), bool)
    repeated[first] = False
    for entry in np.flatnonzero(repeated):
        reasons.add(int(owners[entry]), f'a map has the key "{keys[entry]}" twice')
