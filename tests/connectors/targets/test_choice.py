"""The table of targets."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.targets.choice import TARGETS, target_of
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import INTEGER

SCHEMA = SinkSchema("s", (("id", INTEGER),), (0,), SinkType.UPSERT)


def test_an_unknown_connector_is_named() -> None:
    with pytest.raises(InvalidParameterValue, match='"fax"') as raised:
        target_of({"connector": "fax"}, SCHEMA)
    assert raised.value.hint is not None
    assert "postgres" in raised.value.hint


def test_a_table_has_no_message_format() -> None:
    with pytest.raises(FeatureNotSupported, match="no FORMAT"):
        target_of({"connector": "postgres"}, SCHEMA, MessageFormat("plain", "json"))


@pytest.mark.parametrize("name", TARGETS)
def test_each_target_states_its_contract(name: str) -> None:
    entry = TARGETS[name]
    if entry.extra:
        extras = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
        assert entry.extra in extras["optional-dependencies"]
    try:
        module = importlib.import_module(f"risingpy.connectors.targets.{entry.module}")
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed: make test-connectors installs it")
    contract = getattr(module, entry.name).__doc__.lower()
    assert "exactly once" in contract or "at least once" in contract or "once by key" in contract


def test_a_missing_library_is_named_and_nothing_else_needs_it(tmp_path: Path) -> None:
    """Every library of an extra is hidden; the package still imports, and each target says what to install."""
    program = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in (
            "boto3", "botocore", "confluent_kafka", "deltalake", "nats", "paho", "pyiceberg", "redis"
        ):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import risingpy.server
from risingpy.connectors.targets.choice import TARGETS, target_of
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
for name, entry in TARGETS.items():
    try:
        target_of({"connector": name}, None)
    except FeatureNotSupported as error:
        assert error.sqlstate == "0A000" and f"risingpy[{entry.extra}]" in error.hint, error.hint
    except (AttributeError, InvalidParameterValue):
        assert not entry.extra, name
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
