"""What the documents promise of `pip install`: the wheel alone serves, shuffles large epochs, is backed up and checked.

The environment is bare, and away from the checkout: what the developers' environment has besides cannot help.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installation.conftest import EXTRAS, SPARK_SECONDS, Installation, InstalledServer

SETUP = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, v INT)",
    "CREATE MATERIALIZED VIEW m AS SELECT g, count(*) AS n, sum(v) AS total FROM t GROUP BY g",
)
LARGE = "INSERT INTO t SELECT i, i % 10, 1 FROM generate_series({}, {}) AS s(i)"
ALL = "SELECT sum(n)::bigint, sum(total)::bigint FROM m"
SHUFFLED = "SELECT count(*) FROM rw_catalog.rw_epochs WHERE NOT is_one_task"


def _is_quiet(server: InstalledServer) -> None:
    """Nothing in the log is a defect."""
    told = "".join(server.output)
    assert "Traceback" not in told and "\tat " not in told and " ERROR " not in told, told


@pytest.mark.timeout(900)
def test_small_and_large_epochs(installation: Installation, tmp_path: Path) -> None:
    data_dir, backup = tmp_path / "data", tmp_path / "backup"
    with InstalledServer(installation, data_dir) as server:
        assert server.rows(*SETUP, "INSERT INTO t VALUES (0, 0, 1)", ALL) == [(1, 1)]
        server.wait_for("Spark has taken over", SPARK_SECONDS)
        assert server.rows("INSERT INTO t VALUES (-1, 0, 1)", ALL) == [(2, 2)]
        assert server.rows(LARGE.format(1, 300_000), ALL) == [(300_002, 300_002)]
        installation.run("risingpy", "backup", "--host", "127.0.0.1", "--port", str(server.port), str(backup))
    _is_quiet(server)
    installation.run("risingpy", "check", "--data-dir", str(data_dir))
    installation.run("risingpy", "restore", str(backup), "--data-dir", str(tmp_path / "restored"))


@pytest.mark.timeout(900)
def test_without_a_path(installation: Installation, tmp_path: Path) -> None:
    """No system's Java is found then: the one from PyPI runs Spark, whose launcher finds the system's bash."""
    with InstalledServer(installation, tmp_path / "data", ("--engine", "spark-shuffled"), {}) as server:
        server.wait_for("Spark has taken over", SPARK_SECONDS)
        assert server.rows(*SETUP, LARGE.format(1, 300_000), ALL) == [(300_000, 300_000)]
        assert server.rows(SHUFFLED)[0][0] > 0
    _is_quiet(server)


@pytest.mark.timeout(900)
def test_extras_bring_what_their_connectors_import(installation: Installation) -> None:
    """Each connector's module, of sources and of sinks, with its extra; the others say which extra they lack."""
    wheel = next(installation.directory.glob("*.whl"))
    installation.install(f"{wheel}[{','.join(EXTRAS)}]")
    program = f"""
import importlib
from risingpy.connectors import registry
from risingpy.connectors.targets.choice import TARGETS
extras = {EXTRAS!r}
for name, (place, extra) in {{**registry._CONNECTORS, **registry._PUSHED}}.items():
    if not extra or extra in extras:
        importlib.import_module(place.split(":")[0])
for name, entry in TARGETS.items():
    if not entry.extra or entry.extra in extras:
        importlib.import_module("risingpy.connectors.targets." + entry.module)
if "protobuf" in extras:
    importlib.import_module("risingpy.connectors.formats.protobuf.descriptors")
"""
    installation.run("python", "-c", program)
