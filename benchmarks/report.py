"""The results as JSON, and as the tables of `docs/benchmarks.md`.

`results.json` holds `{"runs": {case: {"command", "date", "machine", "measurements": […]}}}`: each case with the run
that measured it last, so that one case can be measured again alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.targets import judged

Results = dict[str, Any]

_EXPLANATION = """\
Written by `python -m benchmarks` from `benchmarks/results.json`; do not edit.

The machine is shared: *others* is the number of cores that other processes used meanwhile, and *rows/CPU-s* counts
the engine's own CPU seconds, which other work sways less. *PSS* is the peak of the summed proportional set size of
the engine's processes; for RisingPy it includes the pages of its store that are in memory. *Slow-down* is the mean
time of the last fifth of the epochs over that of the first: 1 if history costs nothing. *Right* compares check sums
of the whole answer with DuckDB's. Of q_retract, the slow-down is that of its loads, before the changes.

DuckDB appends each epoch's rows to a table and recomputes the query in full, which grows with history; plain Spark
Structured Streaming runs its own aggregation with its RocksDB state store, one file per micro-batch, into a sink that
drops everything. Both run in the same session of measurements, on the same files, with two threads.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, the figure below it, the figure's factor and decimals."""

    head: str
    figure: str
    decimals: int = 0
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Section:
    """One table: of the measurements of these cases, with these columns where any of them has the figure."""

    title: str
    cases: tuple[str, ...]
    columns: tuple[Column, ...]


_RESOURCES = (Column("PSS MB", "pss_mb"), Column("others", "others_cores", 2))
_EPOCHS = (
    Column("rows/s", "rows_per_second"),
    Column("rows/CPU-s", "rows_per_cpu_second"),
    Column("epoch p50 ms", "epoch_p50_ms"),
    Column("max ms", "epoch_max_ms"),
    Column("epochs", "epochs"),
    Column("slow-down", "slowdown", 2),
    *_RESOURCES,
)
_RETRACTIONS = (
    Column("COPY rows/s", "copy_rows_per_second"),
    Column("COPY and epoch rows/s", "load_rows_per_second"),
    Column("changed rows/s", "change_rows_per_second"),
    Column("rows/CPU-s", "rows_per_cpu_second"),
    Column("slow-down", "slowdown", 2),
    *_RESOURCES,
)
_LATENCIES = (Column("p50 ms", "p50_ms", 1), Column("p99 ms", "p99_ms", 1), Column("samples", "samples"))
_STARTS = (
    Column("accepts s", "accepting_seconds", 2),
    Column("first query s", "first_query_seconds", 2),
    Column("first epoch s", "first_epoch_seconds", 2),
    Column("disk MB", "disk_mb"),
    Column("loaded in s", "load_seconds", 1),
)
_VIEWS = (
    Column("first rows CPU s", "load_cpu_seconds", 1),
    Column("s", "load_seconds", 1),
    Column("PSS MB", "load_pss_mb"),
    Column("1 % changed CPU s", "change_cpu_seconds", 2),
    Column("s", "change_seconds", 2),
    Column("others", "others_cores", 2),
)
_SEARCHES = (
    Column("searches/s", "searches_per_second"),
    Column("CPU ms", "cpu_ms", 2),
    Column("recall", "recall", 3),
    Column("built in s", "build_seconds"),
    Column("of CPU", "build_cpu_seconds"),
    Column("PSS MB", "pss_mb"),
)
_ALTERATIONS = (Column("ADD COLUMN ms", "add_ms", 1), Column("DROP COLUMN ms", "drop_ms", 1))
_MESSAGES = (
    Column("messages/s", "messages_per_second"),
    Column("messages/CPU-s", "messages_per_cpu_second"),
    *_LATENCIES,
    Column("% of a core", "cpu_cores", 2, 100.0),
    *_RESOURCES,
)
_ROWS = (Column("rows/s", "rows_per_second"), Column("rows/CPU-s", "rows_per_cpu_second"), *_LATENCIES, *_RESOURCES)
SECTIONS = (
    Section("Throughput: group and aggregate (q_agg)", ("q_agg",), _EPOCHS),
    Section("Throughput: distinct bidders per second of bids (q_count_distinct)", ("q_count_distinct",), _EPOCHS),
    Section("Throughput: filter and project (q_stateless)", ("q_stateless",), _EPOCHS),
    Section("Throughput: join with a changing table (q_join)", ("q_join",), _EPOCHS),
    Section("Throughput: the three highest bids per auction (q_topn)", ("q_topn",), _EPOCHS),
    Section("Throughput: the last bid per bidder and auction (q_dedup)", ("q_dedup",), _EPOCHS),
    Section("Throughput with updates and deletes (q_retract)", ("q_retract",), _RETRACTIONS),
    Section("TPC-H at scale 1: each query as a live view, alone; changes from COMMIT on", ("tpch",), _VIEWS),
    Section("Freshness of one INSERT", ("freshness",), (*_LATENCIES, *_RESOURCES)),
    Section("Statements", ("INSERT acknowledged", "point SELECT"), _LATENCIES),
    Section(
        "Short statements of many clients (pgbench, clients on the same machine)",
        ("serving",),
        (
            Column("statements/s", "statements_per_second"),
            Column("CPU µs", "cpu_us"),
            *_LATENCIES,
            Column("of what runs beside, a second", "neighbours_per_second", 1),
        ),
    ),
    Section("COPY FROM STDIN, acknowledged", ("COPY",), (Column("rows/s", "rows_per_second"), *_RESOURCES)),
    Section("COPY into a table with a view, beside PostgreSQL's trigger", ("trigger",), _ROWS),
    Section("Doing nothing", ("idle",), (Column("% of a core", "idle_cores", 2, 100.0), *_RESOURCES)),
    Section("Kafka: a topic counted by a view", ("kafka",), _MESSAGES),
    Section("Avro: a view to a topic of Kafka, and a topic counted by a view", ("avro",), _ROWS),
    Section("PostgreSQL CDC: a table copied and counted", ("postgres-cdc",), _ROWS),
    Section("Sinks, from CREATE SINK to WAIT SINK", ("sinks",), _ROWS),
    Section("Subscriptions", ("subscriptions",), _LATENCIES),
    Section(
        "The ten nearest of vectors of 128 dimensions, by an index (hnsw)",
        ("vectors", "vectors-bent", "vectors-clustered"),
        _SEARCHES,
    ),
    Section("WITH RECURSIVE as a live view; from a statement until a SELECT shows it", ("recursion",), _ROWS),
    Section(
        "A month of events: state on its first three days, and the most of it later",
        ("month",),
        (
            Column("first KB", "early_kb"),
            Column("later KB", "late_kb"),
            Column("×", "growth", 2),
            *_RESOURCES,
        ),
    ),
    Section("ALTER TABLE, answered", ("alter",), _ALTERATIONS),
    Section("Starting", ("start",), _STARTS),
    Section("Back after kill -9", ("recovery",), _STARTS),
)


def load(path: Path) -> Results:
    """What earlier runs measured."""
    loaded: Results = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    return loaded


def with_case(
    results: Results,
    case: str,
    measurements: Sequence[Measurement],
    *,
    command: str,
    date: str,
    machine: dict[str, str],
) -> Results:
    """`results` with one case measured anew."""
    run = {
        "command": command,
        "date": date,
        "machine": machine,
        "measurements": [asdict(measurement) for measurement in measurements],
    }
    return {"runs": {**results["runs"], case: run}}


def save(results: Results, path: Path) -> None:
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def measurements_of(results: Results) -> list[Measurement]:
    """Every case's measurements."""
    return [Measurement(**one) for run in results["runs"].values() for one in run["measurements"]]


def render(results: Results) -> str:
    """The document."""
    found = measurements_of(results)
    parts = ["# Benchmarks", _EXPLANATION.rstrip(), *_runs(results), *_targets(found)]
    for section in SECTIONS:
        ours = [one for one in found if one.case in section.cases]
        if ours:
            parts += [f"## {section.title}", "\n".join(table(ours, section.columns))]
    return "\n\n".join(parts) + "\n"


def table(measurements: Sequence[Measurement], columns: Sequence[Column]) -> Iterator[str]:
    """A Markdown table; columns that have no figure at all are left out."""
    used = [column for column in columns if any(column.figure in one.figures for one in measurements)]
    several = len({one.case for one in measurements}) > 1
    judged_rows = any(one.correct is not None for one in measurements)
    heads = ["what", "engine", *(column.head for column in used), *(["right"] if judged_rows else [])]
    yield _line(heads)
    yield _line(["---", "---", *("--:" for _ in used), *(["---"] if judged_rows else [])])
    for one in measurements:
        what = ", ".join(text for text in (one.case if several else "", one.variant) if text)
        engine = f"{one.engine} ({one.note})" if one.note else one.engine
        right = {True: "yes", False: "**no**", None: "–"}[one.correct]
        yield _line([what, engine, *(_cell(one.figures, column) for column in used), *([right] if judged_rows else [])])


def _targets(measurements: Sequence[Measurement]) -> list[str]:
    rows = [
        _line([target.name, f"{'≥' if target.at_least else '≤'} {_number(target.bound)} {target.unit}",
               f"{_number(value)} {target.unit}", "yes" if met else "**no**"])
        for target, value, met in judged(measurements)
    ]  # fmt: skip
    if not rows:
        return []
    head = [_line(["what", "target", "measured", "met"]), _line(["---", "--:", "--:", "---"])]
    limits = [f"* {each.name}: {each.limit}." for each, _, met in judged(measurements) if not met and each.limit]
    why = ["What bounds those that are not met:", "\n".join(limits)] if limits else []
    return ["## Targets, for a quiet two-core machine", "\n".join([*head, *rows]), *why]


def _runs(results: Results) -> list[str]:
    """Which command measured which cases when, and where; runs that agree in all that share a line."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for case, run in results["runs"].items():
        machine = ", ".join(f"{name} {value}" for name, value in run["machine"].items())
        shared.setdefault((run["command"], run["date"], machine), []).append(case)
    lines = [
        f"* {', '.join(cases)}: `{command}`, {date}, on {machine}" for (command, date, machine), cases in shared.items()
    ]
    return ["\n".join(lines)] if lines else []


def _cell(figures: Mapping[str, float], column: Column) -> str:
    value = figures.get(column.figure)
    return "–" if value is None else f"{value * column.factor:,.{column.decimals}f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
