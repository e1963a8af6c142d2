"""The compiled inner loops of the codecs: Numba functions over raw addresses, one pass over a column each.

In: addresses of Arrow buffers and NumPy arrays, as integers. Out: bytes written to buffers that the caller
sized. Callers: the encodings beside this folder, nobody else; they keep the buffers alive and check types.

* `compile`     how a kernel is compiled, and where its machine code is cached
* `memory`      loads, stores and copies at an address
* `sizing`      lengths of encoded rows, and offsets from lengths
* `keys`        memcomparable keys, writing
* `key_reading` memcomparable keys, reading
* `row_writing` rows, writing
* `datums`      plain rows, reading, and moving datums
* `rows`        headers of column-aware rows, and reading
* `grouping`    hashing and grouping of binary keys
* `sorting`     sorting of binary keys
* `lmdb_calls` LMDB's functions, and reads of many keys; `lmdb_ranges`, of many ranges; `lmdb_writes`, many writes
* `run_search` searches in sorted runs
* `json`        parts of jsonb texts; `json_containment` is `@>`, `json_keys` the order

A kernel's first call loads its machine code from the cache, or compiles it (about 20 s for all). A process that
forks workers calls `load` first, so that they inherit the code.
"""

from risingpy.storage.kernels.compile import load

__all__ = ["load"]
