"""A graph comes back as it was; jobs that stay are the same objects, and are not written or read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from risingpy.plan import codec, graph_codec
from risingpy.plan.graph import StreamGraph
from risingpy.plan.graph_codec import GraphReader, GraphWriter
from risingpy.types import BIGINT
from tests.optimizer.conftest import PlannerBench


def with_views(bench: PlannerBench, views: int) -> StreamGraph:
    table = next(iter(bench.relations.values())) if bench.relations else bench.table("t", {"a": BIGINT}, ["a"])
    for number in range(views):
        bench.view(f"v{number}", bench.scan(table))
    return bench.graph


def test_a_graph_comes_back(bench: PlannerBench) -> None:
    source = bench.source("s", {"a": BIGINT})
    graph = replace(with_views(bench, 3), version=7, sources=(source,))
    writer, reader = GraphWriter(), GraphReader()
    assert reader.read(writer.write(graph)) == graph
    nothing = StreamGraph(1, 2, ())
    assert reader.read(writer.write(nothing)) == nothing


def test_jobs_that_stay_are_the_same(bench: PlannerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = GraphWriter(), GraphReader()
    before = reader.read(writer.write(with_views(bench, 2)))
    written: list[object] = []
    read: list[bytes | memoryview] = []

    def encode(value: object) -> bytes:
        written.append(value)
        return codec.encode(value)

    def decode(data: bytes | memoryview) -> Any:
        read.append(data)
        return codec.decode(data)

    monkeypatch.setattr(graph_codec, "encode", encode)
    monkeypatch.setattr(graph_codec, "decode", decode)
    more = with_views(bench, 1)
    after = reader.read(writer.write(more))
    assert [job.name for job in after.jobs] == ["t", "v0", "v1", "v0"]
    assert after == more
    assert all(a is b for a, b in zip(before.jobs, after.jobs, strict=False))
    assert len(written) == len(read) == 2  # the new job, and the graph without its jobs


def test_what_was_written_of_a_job_is_known(bench: PlannerBench, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = GraphWriter()
    graph = with_views(bench, 2)
    writer.write(graph)
    first, *_ = graph.jobs
    other = replace(first)  # equal, but nobody has compared them
    expected = codec.encode(first)
    written: list[object] = []

    def encode(value: object) -> bytes:
        written.append(value)
        return codec.encode(value)

    monkeypatch.setattr(graph_codec, "encode", encode)
    assert writer.encoded(first) == writer.encoded(other) == expected
    assert [each is other for each in written] == [True]


def test_a_job_that_changed_is_read_again(bench: PlannerBench) -> None:
    graph = with_views(bench, 1)
    writer, reader = GraphWriter(), GraphReader()
    reader.read(writer.write(graph))
    first, second = graph.jobs
    other = replace(graph, jobs=(first, replace(second, awaits=(4,))))
    assert reader.read(writer.write(other)) == other
    assert reader.read(writer.write(replace(graph, jobs=(first,)))).jobs == (first,)
