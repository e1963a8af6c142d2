"""Executors: the change of a stream graph's relations, from the epoch's input and the state.

    relation    what is stored, and what feeds it: Materialize, Dml, Source, TableScan
    stateless   what keeps nothing: Filter, Project, ProjectSet, Expand, Union, Values, ChangeLog
    aggregate   HashAgg, SimpleAgg, LocalAgg; calls and their state tables
    join        HashJoin, AsOfJoin, TemporalJoin, DynamicFilter
    ordered     TopN, LocalTopN, OverWindow, Dedup
    watermark   WatermarkFilter, EowcSort, Now, and the deletion of rows that a watermark has passed
    builders    executors of plan nodes
    epoch       what an epoch is to a task: descriptor, input, exchange, and how its stages run
    spark       stages as Spark tasks

In: a stream graph, an `EpochInput`, state tables, payloads of earlier stages. Out: changed state, payloads for later
stages, a report. What goes between executors are change chunks (`change_chunk`).
"""
