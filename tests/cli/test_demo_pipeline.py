"""`risingpy demo pipeline`: it ends well, it sees what is wrong, and it says what is missing."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.demo import missing_packages, run_pipeline
from risingpy.demo.pipeline_queries import VIEWS
from tests.cli.test_fresh_processes import risingpy

needs_a_broker = pytest.mark.skipif(bool(missing_packages()), reason="make test-connectors installs the broker")


class Saboteur:
    """Takes the demo's report. When the views are complete, it writes one more message to a topic of theirs."""

    def __init__(self, topic: str) -> None:
        self.lines: list[str] = []
        self._topic = topic
        self._address = ""

    def __call__(self, line: str) -> None:
        from confluent_kafka import Producer

        self.lines.append(line)
        if line.startswith("A Kafka broker listens on "):
            self._address = line.split()[5].rstrip(".")
        if line.startswith("All "):
            producer = Producer({"bootstrap.servers": self._address, "log_level": 0})
            producer.produce(self._topic, key=b'{"category": 99}', value=b'{"category": 99, "bids": 1, "highest": 1}')
            assert producer.flush(10) == 0


@needs_a_broker
def test_what_comes_out_is_what_went_in() -> None:
    code, output = risingpy("demo", "pipeline", "--events", 10_000, "--seconds", 2)
    assert code == 0, output
    assert "9,200 messages, each event once" in output
    for name in VIEWS:
        equal = [line.split()[-1] for line in output.splitlines() if line.split()[:1] == [name] and "equal" in line]
        assert equal == ["DuckDB", "topic"]
    moments = [line for line in output.splitlines() if "bids made" in line]
    assert len(moments) > 1 and "lag" in moments[0] and "/s" in moments[0]


@needs_a_broker
def test_a_message_too_many_is_seen() -> None:
    saboteur = Saboteur("by_category")
    assert run_pipeline(5_000, 1, saboteur) is False
    assert next(line for line in saboteur.lines if "DIFFERENT" in line).split()[0] == "by_category"
    assert saboteur.lines[-1] == "SOMETHING IS WRONG."


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "noida_db", raising=False)
    result = CliRunner().invoke(main, ["demo", "pipeline"])
    assert result.exit_code == 1
    assert "noida-db" in result.output and "pip install 'risingpy[pipeline]'" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "4566", "demo"], "No such option"),
        (["demo", "--port", "4566", "pipeline"], "starts a server of its own"),
        (["demo", "pipeline", "--events", "0"], "Invalid value for '--events'"),
        (["demo", "pipeline", "--seconds", "0"], "Invalid value for '--seconds'"),
    ],
)
def test_wrong_command_lines(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert message in result.output
