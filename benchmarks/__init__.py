"""Speed, freshness and recovery: `python -m benchmarks` (`make bench`) measures, and writes two files.

In: a machine with the project installed. Out: `benchmarks/results.json` and the tables of `docs/benchmarks.md`.

* `cases` names what can be measured and how large; `throughput`, `retract`, `latency`, `start_up`, `recovery` and
  `alter` measure a real server in a process of its own.
* `duckdb_yardstick` and `spark_yardstick` do the same work in DuckDB (the query recomputed in full) and in plain
  Spark Structured Streaming (its own aggregation, its RocksDB store), each in a process of its own.
* `nexmark`, `epoch_files`, `queries` are the input; `measurement`, `process_tree`, `machine` the instruments;
  `report` and `targets` the document.
* `peer_risingpy.py` is our program for the peers' harness, `codec.py` times the storage codecs alone.
"""
