"""WITH RECURSIVE as a live view: how long its first rows take, and how soon one changed edge is visible.

tree     one tree, each node below one of those before it, and the nodes that are reached from its root
chains   graphs of ten edges each, and the pairs of each graph's nodes of which one is reached from the other: such a
         recursion is spread over the shards by the graph

The edge that goes and comes again ends at a leaf, so few paths change.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.measurement import RISINGPY, Measurement, Meter, latency_figures, timed_calls
from benchmarks.throughput import running_server

CASE = "recursion"
TREE, CHAINS = "tree", "chains"
INSERTED, DELETED = "edge inserted", "edge deleted"
_LENGTH = 10  # edges of a chain
_COPIES = 10  # of the first rows
_WARM = 10


@dataclass(frozen=True, slots=True)
class _Graph:
    """A table of edges with its view. `lines` are COPY's; `leaf` gives an edge as a condition, its row, a query.

    The query counts what the edge leads to, which is `found` rows while the edge is there.
    """

    name: str
    table: str
    view: str
    lines: list[str]
    rows: int
    leaves: list[tuple[str, str, str]]
    found: int


def variant(name: str, edges: int, what: str = "loaded") -> str:
    """What is measured of a graph."""
    return f"{name} of {edges:,} edges, {what}"


def measure(edges: int, samples: int) -> Iterator[Measurement]:
    """Both graphs with so many edges, and so many edges deleted and inserted."""
    for graph in (_tree(edges, samples), _chains(edges, samples)):
        with running_server() as server, server.connect() as connection:
            connection.execute(f"CREATE TABLE edges ({graph.table})")
            connection.execute(f"CREATE MATERIALIZED VIEW reached AS {graph.view}")
            connection.execute("FLUSH")
            loaded, rows = _loaded(connection, graph, server.process.pid)
            yield Measurement(CASE, variant(graph.name, edges), RISINGPY, loaded, correct=rows == graph.rows)
            for what, figures in _changed(connection, graph, samples):
                yield Measurement(CASE, variant(graph.name, edges, what), RISINGPY, figures, correct=True)


def _loaded(connection: Any, graph: _Graph, pid: int) -> tuple[dict[str, float], int]:
    """The figures of the first rows, and how many the view then has."""
    edges = len(graph.lines)
    part = -(-edges // _COPIES)
    with Meter(pid) as meter:
        for start in range(0, edges, part):
            with connection.cursor().copy("COPY edges FROM STDIN") as copy:
                copy.write("".join(graph.lines[start : start + part]))
        connection.execute("FLUSH")
    (rows,) = connection.execute("SELECT count(*) FROM reached").fetchone()
    usage = meter.usage
    rates = {"rows_per_second": edges / usage.wall_seconds, "rows_per_cpu_second": edges / usage.cpu_seconds}
    return {**rates, **usage.figures()}, rows


def _changed(connection: Any, graph: _Graph, samples: int) -> Iterator[tuple[str, dict[str, float]]]:
    """From sending a statement until a SELECT of the view that shows it has answered. Raises AssertionError if not."""

    def seen(statement: str, query: str, expected: int) -> None:
        connection.execute(statement)
        row = connection.execute(query).fetchone()
        assert row == (expected,), (statement, row)

    def deleted(number: int) -> None:
        condition, _, query = graph.leaves[number]
        seen(f"DELETE FROM edges WHERE {condition}", query, 0)

    def inserted(number: int) -> None:
        _, row, query = graph.leaves[number]
        seen(f"INSERT INTO edges VALUES ({row})", query, graph.found)

    yield DELETED, latency_figures(timed_calls(deleted, samples, warm=_WARM))
    yield INSERTED, latency_figures(timed_calls(inserted, samples, warm=_WARM))


def _tree(edges: int, samples: int) -> _Graph:
    chance = random.Random(7)
    parents = [chance.randrange(node) for node in range(1, edges + 1)]
    inner = set(parents)
    found = (node for node in range(edges, 0, -1) if node not in inner)
    leaves = []
    for _ in range(samples + _WARM):
        leaf = next(found)
        parent = parents[leaf - 1]
        query = f"SELECT count(*) FROM reached WHERE n = {leaf}"
        leaves.append((f"a = {parent} AND b = {leaf}", f"{parent}, {leaf}", query))
    lines = [f"{parent}\t{node}\n" for node, parent in enumerate(parents, 1)]
    view = "WITH RECURSIVE r (n) AS (SELECT 0 UNION SELECT e.b FROM r JOIN edges e ON e.a = r.n) SELECT n FROM r"
    return _Graph(TREE, "a INT, b INT, PRIMARY KEY (a, b)", view, lines, edges + 1, leaves, 1)


def _chains(edges: int, samples: int) -> _Graph:
    graphs = edges // _LENGTH
    lines = [f"{graph}\t{node}\t{node + 1}\n" for graph in range(graphs) for node in range(_LENGTH)]
    leaves = []
    for graph in range(samples + _WARM):
        row = f"{graph}, {_LENGTH - 1}, {_LENGTH}"
        query = f"SELECT count(*) FROM reached WHERE g = {graph} AND b = {_LENGTH}"
        leaves.append((f"g = {graph} AND a = {_LENGTH - 1}", row, query))
    view = (
        "WITH RECURSIVE r (g, a, b) AS (SELECT g, a, b FROM edges UNION "
        "SELECT r.g, r.a, e.b FROM r JOIN edges e ON e.g = r.g AND e.a = r.b) SELECT g, a, b FROM r"
    )
    rows = graphs * _LENGTH * (_LENGTH + 1) // 2
    return _Graph(CHAINS, "g INT, a INT, b INT, PRIMARY KEY (g, a, b)", view, lines, rows, leaves, _LENGTH)
