"""Executors: they compute how a stream graph's relations change, from the epoch's input and the state.

    relation    stored relations and what feeds them: Materialize, Dml, Source, TableScan
    stateless   operators without state: Filter, Project, ProjectSet, Expand, Union, Values, ChangeLog
    aggregate   HashAgg, SimpleAgg, LocalAgg; calls and their state tables
    join        HashJoin, AsOfJoin, TemporalJoin, DynamicFilter
    ordered     TopN, LocalTopN, OverWindow, Dedup
    watermark   WatermarkFilter, EowcSort, Now, and the deletion of rows that a watermark has passed
    builders    executors of plan nodes
    epoch       an epoch as a task sees it: descriptor, input, exchange, and how its stages run
    spark       stages as Spark tasks

In: a stream graph, an `EpochInput`, state tables, payloads of earlier stages. Out: changed state, payloads for later
stages, a report. Executors pass change chunks (`change_chunk`) to each other.
"""
