"""A wire server over DuckDB sessions, one per test module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from risingpy.frontend.wire import WireServer


def _load(name: str, directory: Path = Path(__file__).parent) -> ModuleType:
    # Tests are imported by file (importmode=importlib), so a helper module beside them is too.
    spec = importlib.util.spec_from_file_location(f"wire_tests_{name}", directory / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_fake = _load("fake_session")
postgres = _load("conftest", Path(__file__).parents[2] / "types").postgres


@pytest.fixture(scope="module")
def database() -> Any:
    made = _fake.FakeDatabase()
    made.duckdb.execute("create table kv(k integer, v varchar)")
    made.duckdb.execute("insert into kv select i, 'v' || i from range(100) t(i)")
    return made


@pytest.fixture(scope="module")
def server(database: Any) -> Iterator[WireServer]:
    made = WireServer("127.0.0.1", 0, database.open)
    made.start()
    yield made
    made.stop()


raw_client = _load("raw_client")


@pytest.fixture(scope="session")
def raw() -> ModuleType:
    """The module raw_client."""
    return raw_client


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """The module fake_session."""
    return _fake
