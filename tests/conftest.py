"""What every test may use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS
from risingpy.nesting import allow_deep_nesting
from tests.engines import Engine, SharedSession, kinds_of
from tests.examples import FUZZ, FUZZ_EXAMPLES

allow_deep_nesting()  # as every process of the database

# Half as many examples as Hypothesis's own default. `make fuzz` takes the second: many more.
settings.register_profile("default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(FUZZ, settings.get_profile("default"), max_examples=FUZZ_EXAMPLES)
# Files of sources and sinks: what tests make (those of faults in memory), and what examples of the documentation name.
os.environ[FILE_ROOTS] = os.pathsep.join((tempfile.gettempdir(), "/dev/shm", "/var/lib/readings", "/data/orders"))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; read the diff")


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """True if golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))


# The modules with tests that take twenty seconds or more. Two processes share the tests: whoever began one of these
# near the end would leave the other without work.
LONGEST_FIRST = (
    *("tests/installation/", "tests/sqllogictest/", "tests/crash/", "tests/faults/", "tests/tpcds/"),
    *("tests/abuse/", "tests/soak/", "tests/meta/own_pace/", "tests/connectors/stored_files/test_kill.py"),
    *("tests/connectors/postgres_cdc/", "tests/executors/epoch/test_temporal_filters.py"),
    "tests/frontend/session/reads/test_recurring_texts.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = any("engine" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "engine" in metafunc.fixturenames and not own:  # tests of whole servers name their engines themselves
        metafunc.parametrize("engine", kinds_of(metafunc), indirect=True, ids=lambda kind: kind.value)


@pytest.fixture(scope="session")
def spark_sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedSession]:
    """The one Spark of this process. It starts with the first database that wants it."""
    sessions = SharedSession(tmp_path_factory.mktemp("spark"))
    yield sessions
    sessions.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest, spark_sessions: SharedSession) -> Engine:
    """What runs the epochs of a test's databases: see `tests.engines`."""
    return Engine(request.param, spark_sessions)
