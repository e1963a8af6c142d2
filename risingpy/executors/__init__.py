"""Executors: the change of a stream graph's relations, from the epoch's input and the state.

In: a stream graph, an `EpochInput`, state tables, payloads of earlier stages. Out: changed state, payloads for later
stages, a report. `stage_runner` runs a stage's fragments, `build` makes a fragment's operators, and each operator has
its file: dml, source, values, table_scan, filter, project, local_agg, hash_agg, simple_agg, union, materialize. What
goes between them are change chunks (`change_chunk`). `spark/` calls the stage runner in tasks, `epoch_task` says what
one task does.
"""
