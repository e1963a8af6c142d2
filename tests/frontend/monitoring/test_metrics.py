"""/metrics of a real server: its figures are those of what was done, and the dashboard asks for nothing else."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from risingpy.server_process import HOST, ServerProcess

DASHBOARD = Path(__file__).parents[3] / "docs/operating/grafana-dashboard.json"
_SECONDS = 30.0
_NAME = re.compile(r"\b(?:risingpy|process)_\w+")
_LABELS_OF_METRIC = re.compile(r"((?:risingpy|process)_\w+)\{([^}]*)\}")
_GROUPED = re.compile(r"by \(([^)]*)\)")
_SHOWN = re.compile(r"\{\{(\w+)\}\}")
_ADDED_BY_PROMETHEUS = {"instance", "job"}


class Scrape:
    """The samples of one request: by name, each with its labels."""

    def __init__(self, text: str) -> None:
        self.samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        self.families = set()
        for family in text_string_to_metric_families(text):
            self.families.add(family.name)
            for sample in family.samples:
                self.samples.setdefault(sample.name, []).append((dict(sample.labels), sample.value))

    def value(self, name: str, **labels: str) -> float:
        """The only sample that has these labels."""
        [value] = [value for found, value in self.samples.get(name, []) if labels.items() <= found.items()]
        return value


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("served") / "data", engine="inprocess", flags=["--http-port", "0"])
    yield process
    process.stop()


def get(server: ServerProcess, path: str) -> str:
    with urllib.request.urlopen(f"http://{HOST}:{server.http_port}{path}", timeout=_SECONDS) as answer:
        body: bytes = answer.read()
    return body.decode()


def scrape(server: ServerProcess) -> Scrape:
    return Scrape(get(server, "/metrics"))


def until(look: Callable[[], float], expected: float) -> None:
    end = time.monotonic() + _SECONDS
    while (found := look()) != expected:
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_rows_of_tables_and_views(server: ServerProcess) -> None:
    with server.connect() as client:
        client.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
        client.execute("CREATE MATERIALIZED VIEW m AS SELECT v, count(*) AS n, 10 / v AS q FROM t GROUP BY v")
        before = scrape(server)
        client.execute("INSERT INTO t SELECT x, x % 10 FROM generate_series(1, 1000) x")
        client.execute("FLUSH")
        client.execute("DELETE FROM t WHERE id <= 100")
        client.execute("FLUSH")
    after = scrape(server)
    table, view = ({"relation": "t", "kind": "table"}, {"relation": "m", "kind": "materialized view"})
    assert after.value("risingpy_relation_rows_in_total", **table) == 1100
    assert after.value("risingpy_relation_rows_out_total", **table) == 1100
    assert after.value("risingpy_relation_rows_in_total", **view) == 1100
    assert (
        after.value("risingpy_relation_rows_out_total", **view) == 10 + 2 * 10
    )  # ten groups: new, then before → after
    assert after.value("risingpy_relation_busy_seconds_total", **view) > 0
    assert after.value("risingpy_relation_errors_total", **view) >= 1  # 10 / 0
    assert after.value("risingpy_state_rows", part="rows", **table) == 900
    assert after.value("risingpy_state_rows", part="rows", **view) == 10
    assert after.value("risingpy_state_bytes", part="state", **view) > 0
    assert after.value("risingpy_relation_stopped", **view) == 0
    grown = after.value("risingpy_epoch_rows_total") - before.value("risingpy_epoch_rows_total")
    assert grown == 1100
    for phase in ("plan", "run", "commit", "publish"):
        ran = after.value("risingpy_epoch_phase_seconds_count", phase=phase)
        assert ran - before.value("risingpy_epoch_phase_seconds_count", phase=phase) >= 2
        assert 0 < after.value("risingpy_epoch_phase_seconds_sum", phase=phase) < 60
        assert after.value("risingpy_epoch_phase_seconds_bucket", phase=phase, le="+Inf") == ran
    assert after.value("risingpy_committed_epoch") > before.value("risingpy_committed_epoch")
    assert abs(time.time() - after.value("risingpy_committed_epoch_timestamp_seconds")) < _SECONDS


def test_statements_by_kind(server: ServerProcess) -> None:
    def counts(kind: str) -> tuple[float, float]:
        found = scrape(server)
        failures = [v for labels, v in found.samples["risingpy_statement_failures_total"] if labels["kind"] == kind]
        done = [v for labels, v in found.samples["risingpy_statement_seconds_count"] if labels["kind"] == kind]
        return sum(done), sum(failures)

    with server.connect() as client:
        client.execute("SELECT 1")
        with pytest.raises(psycopg.errors.SyntaxError):
            client.execute("SELEC 1")
        with pytest.raises(psycopg.errors.DivisionByZero):
            client.execute("SELECT 1 / 0")
        selects, unparsed, shows = counts("select"), counts("unparsed"), counts("show variable")
        client.execute("SELECT 1; SELECT 2; SHOW application_name")  # the simple protocol
        for _ in range(3):
            client.execute("SELECT %s::int", (5,), prepare=True)  # the extended one; parsed once
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute("SELECT * FROM nothing_of_this_name")
        with pytest.raises(psycopg.errors.SyntaxError):
            client.execute("SELEC 1")
        with client.pipeline():
            for number in range(4):
                client.execute("SELECT %s::int", (number,))
        assert counts("select") == (selects[0] + 2 + 3 + 1 + 4, selects[1] + 1)
        assert counts("unparsed") == (unparsed[0] + 1, unparsed[1] + 1)
        assert counts("show variable") == (shows[0] + 1, shows[1])


def test_a_statements_time_has_its_rows(server: ServerProcess) -> None:
    with server.connect() as client:
        client.execute("SELECT 1")
        before = scrape(server).value("risingpy_statement_seconds_sum", kind="select")
        client.execute("SELECT pg_sleep(0.3)")
        took = scrape(server).value("risingpy_statement_seconds_sum", kind="select") - before
    assert 0.3 <= took < 10


def test_sessions_and_their_transactions(server: ServerProcess) -> None:
    def number(state: str) -> float:
        return scrape(server).value("risingpy_sessions", state=state)

    until(lambda: number("idle"), 0)
    with server.connect() as one, server.connect() as other:
        one.execute("SELECT 1")
        other.execute("BEGIN")
        until(lambda: number("idle"), 1)
        until(lambda: number("idle in transaction"), 1)
        time.sleep(0.1)
        assert scrape(server).value("risingpy_oldest_transaction_seconds") >= 0.1
    until(lambda: number("idle") + number("idle in transaction"), 0)
    assert scrape(server).value("risingpy_oldest_transaction_seconds") == 0


def test_memory_and_disk(server: ServerProcess) -> None:
    found = scrape(server)
    parts = {part: found.value("risingpy_memory_bytes", part=part) for part in ("server", "mapped", "duckdb", "java")}
    assert parts["server"] > 50 << 20
    assert parts["mapped"] > 1 << 20
    assert parts["java"] == 0  # this engine has none
    assert found.value("process_resident_memory_bytes") == pytest.approx(parts["server"] + parts["mapped"], rel=0.3)
    files = sum(path.stat().st_size for path in (server.data_dir / "shards").rglob("data.mdb"))
    assert found.value("risingpy_state_file_bytes") == files
    assert found.value("risingpy_log_bytes") > 0
    assert found.value("risingpy_memory_limit_bytes") > 1 << 30


def test_sources_and_sinks(server: ServerProcess, tmp_path: Path) -> None:
    with server.connect() as client:
        client.execute(
            "CREATE SOURCE s (id bigint) WITH (connector = 'datagen', datagen.rows.per.second = '500',"
            " fields.id.kind = 'sequence', fields.id.start = '1', fields.id.end = '1000') FORMAT PLAIN ENCODE JSON"
        )
        client.execute("CREATE MATERIALIZED VIEW from_s AS SELECT id FROM s")
        client.execute(
            f"CREATE SINK out FROM from_s WITH (connector = 'fs', fs.path = '{tmp_path}/out', type = 'append-only',"
            " force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
        )
        until(lambda: scrape(server).value("risingpy_source_rows_total", source="s"), 1000)
        until(lambda: scrape(server).value("risingpy_source_lag", source="s", relation="from_s"), 0)
        client.execute("WAIT SINK out")
        found = scrape(server)
        assert found.value("risingpy_sink_rows_total", sink="out") == 1000
        assert found.value("risingpy_sink_up", sink="out") == found.value("risingpy_source_up", source="s") == 1
        assert found.value("risingpy_source_rejected_total", source="s", relation="from_s") == 0
        assert found.value("risingpy_relation_rows_out_total", relation="from_s") == 1000
        assert found.value("risingpy_sink_lag_seconds", sink="out") >= 0


def test_a_scrape_costs_little(server: ServerProcess) -> None:
    cpu = scrape(server).value("process_cpu_seconds_total")
    for _ in range(20):
        scrape(server)
    each = (scrape(server).value("process_cpu_seconds_total") - cpu) / 20
    assert each < 0.15  # at a scrape each 15 s this is 1 % of a core


def _queries() -> list[tuple[str, str]]:
    dashboard = json.loads(DASHBOARD.read_text())
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(targets) > 30
    return [(target["expr"], target["legendFormat"]) for target in targets]


def test_the_dashboard_asks_for_what_there_is(server: ServerProcess) -> None:
    text = get(server, "/metrics")
    found = Scrape(text)
    suffixes = ("", "_total", "_bucket", "_count", "_sum")
    known = {name + suffix for name in found.families for suffix in suffixes}
    for expression, legend in _queries():
        names = _NAME.findall(expression)
        assert names, expression
        assert set(names) <= known, expression
        labels = {word for listed in _GROUPED.findall(expression) for word in re.split(r",\s*", listed)}
        labels |= set(_SHOWN.findall(legend))
        for _, selector in _LABELS_OF_METRIC.findall(expression):
            labels |= {part.split("=")[0].strip("~! ") for part in selector.split(",") if "=" in part}
        samples = [sample for name in names for sample, _ in found.samples.get(name, [])]
        if samples:
            assert labels - _ADDED_BY_PROMETHEUS <= {label for sample in samples for label in sample}, expression


def test_every_metric_of_ours_is_documented(server: ServerProcess) -> None:
    page = (DASHBOARD.parent / "metrics.md").read_text()
    ours = {name for name in scrape(server).families if name.startswith("risingpy_")}
    documented = set(re.findall(r"`(risingpy_\w+?)(?:_total)?`", page))
    assert documented == ours
