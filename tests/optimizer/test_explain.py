"""EXPLAIN's forms; what plans look like is in `goldens/`."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pytest

from risingpy.optimizer.explain import ExplainFormat, explain_batch, explain_fragments, explain_stream, explain_trace
from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.plan import logical
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.types import BIGINT, BOOLEAN, BYTEA, DATE, INTEGER, NUMERIC, VARCHAR
from tests.optimizer.conftest import PlannerBench

COUNT = logical.AggCall("count", (), BIGINT)
A, B = InputRef(0, INTEGER), InputRef(1, INTEGER)

TEXTS: dict[str, Expr] = {
    "(a + b)": Call("add", (A, B), INTEGER),
    "((a > 1) AND (NOT (b <> 2)))": Call(
        "and",
        (
            Call("gt", (A, Literal(1, INTEGER)), BOOLEAN),
            Call("not", (Call("ne", (B, Literal(2, INTEGER)), BOOLEAN),), BOOLEAN),
        ),
        BOOLEAN,
    ),
    "(a IS NOT NULL)": Call("is_not_null", (A,), BOOLEAN),
    "(a IS DISTINCT FROM b)": Call("is_distinct_from", (A, B), BOOLEAN),
    "(a IN (1, 2))": Call("in", (A, Literal(1, INTEGER), Literal(2, INTEGER)), BOOLEAN),
    "(-a)": Call("negate", (A,), INTEGER),
    "upper('it''s')": Call("upper", (Literal("it's", VARCHAR),), VARCHAR),
    "a::bigint": Cast(A, BIGINT),
    "CASE WHEN true THEN a ELSE NULL END": Case(((Literal(True, BOOLEAN), A),), Literal(None, INTEGER), INTEGER),
    "'2024-02-29'::date": Literal(datetime.date(2024, 2, 29), DATE),
    "1.50": Literal(Decimal("1.50"), NUMERIC),
    r"'\x00ff'::bytea": Literal(b"\x00\xff", BYTEA),
    "$1": Parameter(1, INTEGER),
}


@pytest.mark.parametrize("text", TEXTS)
def test_expressions_read_like_sql(text: str) -> None:
    assert expression_text(TEXTS[text], ["a", "b"]) == text


def test_json(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER})
    planned = bench.plan(bench.scan(t))
    lines = explain_stream(planned.root, True, job=bench.cut(planned), explain_format=ExplainFormat.JSON)
    document = json.loads("\n".join(lines))
    assert document["name"] == "StreamMaterialize"
    assert document["fields"]["stream_key"] == ["_row_id"]
    assert document["children"][0]["name"] == "StreamTableScan"
    assert any("stage 0" in detail for detail in document["details"])


def test_one_name_twice_is_told_apart(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER})
    assert explain_batch(bench.scan(t, "a", "a")) == ["BatchScan { table: public.t, columns: [a#0, a#1] }"]


def test_every_table_of_a_job_is_listed(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER})
    job = bench.cut(bench.plan(bench.scan(t)))
    assert sum(line.startswith("Table ") for line in explain_fragments(job)) == 1 + len(job.state_tables)


def test_fragments_as_json(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER}, ["a"])
    job = bench.cut(bench.plan(logical.Aggregate(bench.scan(t), (), (COUNT,), (logical.Field("n", BIGINT),))))
    document = json.loads("\n".join(explain_fragments(job, explain_format=ExplainFormat.JSON)))
    reader, source = document["fragments"]
    assert (reader["stage"], source["stage"]) == (1, 0)
    exchange = reader["plan"]["children"][0]["children"][0]
    assert exchange["fields"]["from_fragment"] == str(source["fragment_id"])
    assert [table["table_id"] for table in document["tables"]] == [
        table.table_id for table in (job.table, *job.state_tables)
    ]


def test_fragments_as_a_graph(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER}, ["a"])
    job = bench.cut(bench.plan(logical.Aggregate(bench.scan(t), (), (COUNT,), (logical.Field("n", BIGINT),))))
    lines = explain_fragments(job, explain_format=ExplainFormat.DOT)
    assert [line for line in lines if "subgraph" in line or "dashed" in line] == [
        *(f"  subgraph cluster_{fragment.fragment_id} {{" for fragment in reversed(job.fragments)),
        "  n4 -> n3 [style=dashed];",
    ]
    assert lines[-1] == "}"


def test_trace_shows_what_each_rule_does(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER}, ["a"])
    lines = list(explain_trace(logical.Filter(bench.scan(t), Literal(True, BOOLEAN)), for_stream=False))
    assert lines[0] == "Begin:"
    assert lines[-2:] == ["End:", ""]
    changes = [line for line in lines if line.startswith("After ")]
    assert changes
    assert len(changes) == lines.count("") // 2 - 1


def test_dot(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER}, ["a"])
    lines = explain_batch(bench.scan(t, "a"), explain_format=ExplainFormat.DOT)
    assert lines == [
        "digraph plan {",
        '  node [shape=box, fontname="monospace"];',
        r'  n1 [label="BatchScan\ltable: public.t\lcolumns: [a]\l"];',
        "}",
    ]
