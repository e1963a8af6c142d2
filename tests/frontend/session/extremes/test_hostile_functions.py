"""Functions in Python that harm their process: each gives its own error, and the next statement works."""

from __future__ import annotations

import contextlib
import logging

import pytest

from risingpy.errors import ExternalRoutineError, SqlError
from risingpy.functions.python import printed, worker_process
from tests.frontend.session.conftest import Client

_HOSTILE = {
    "os._exit(1)": "54000",
    "os.kill(os.getpid(), 9)": "54000",
    "os.closerange(0, 100)": "54000",
    "os.write(4, b'\\xff' * 100)": "54000",
    "['y' * 10**8 for _ in range(100)]": "54000",
    "list(iter(int, 1))": "54000",
    "exec('while True: pass')": "54000",
    "sys.exit(0)": "38000",
    "hostile(a)": "38000",
    "next(iter(()))": "38000",
    "raise_(ValueError('x' * 10**7))": "38000",
    "raise_(Mute())": "38000",
    "'no number'": "38000",
}
_HEAD = """import os, sys
class Mute(Exception):
    def __str__(self): raise RuntimeError
def raise_(error): raise error
"""


def _create(client: Client, body: str) -> None:
    client.run(f"CREATE FUNCTION hostile(a INT) RETURNS INT LANGUAGE python AS $${_HEAD}{body}$$")


@pytest.mark.parametrize("expression", _HOSTILE)
def test_what_harms_its_process_harms_its_query_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    _create(client, f"def hostile(a):\n    return {expression}\n")
    client.run("CREATE FUNCTION sound(a INT) RETURNS INT LANGUAGE python AS $$def sound(a): return a + 1$$")
    with monkeypatch.context() as limited, pytest.raises(ExternalRoutineError) as error:
        limited.setattr(worker_process, "TIME_LIMIT_SECONDS", 1.0)  # a new process may need longer to begin
        client.run("SELECT hostile(1)")
    assert error.value.sqlstate == _HOSTILE[expression]
    assert len(error.value.message) < 3000
    assert client.run("SELECT sound(1)") == [(2,)]


def test_a_forked_process_does_not_answer_for_another_function(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It found an answer without `retracts`, and would have given the results of one function as another's.

    Walls refuse a fork; some machines have none.
    """
    monkeypatch.setattr(worker_process, "_is_confined", lambda do: False)
    members = "def create_state(): return 0\ndef accumulate(s, a): return s + a\ndef finish(s): return s\n"
    client.run("CREATE TABLE t (a INT PRIMARY KEY)")
    client.run("INSERT INTO t VALUES (1), (2)")
    client.run("CREATE FUNCTION forks(a INT) RETURNS INT LANGUAGE python AS $$import os\nos.fork()\n"
               "def forks(a): return a$$")  # fmt: skip
    client.run(f"CREATE AGGREGATE total(a INT) RETURNS INT LANGUAGE python AS $${members}$$")
    for _ in range(3):
        with contextlib.suppress(ExternalRoutineError):  # an answer that comes twice is refused
            assert client.run("SELECT forks(7)") == [(7,)]
        try:
            assert client.run("SELECT total(a) FROM t") == [(3,)]
        except ExternalRoutineError as error:
            assert "broke into" in error.message


def test_a_check_whose_process_dies(client: Client) -> None:
    with pytest.raises(ExternalRoutineError, match="ended its process"):
        client.run("CREATE AGGREGATE dies(a INT) RETURNS INT LANGUAGE python AS $$import os\nos._exit(3)$$")


def test_a_process_with_threads_is_not_used_again(client: Client) -> None:
    started = "threading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()"
    _create(client, f"import threading\ndef hostile(a):\n    {started}\n    return a")
    client.run("CREATE FUNCTION threads(a INT) RETURNS INT LANGUAGE python AS $$import threading\n"
               "def threads(a): return threading.active_count()$$")  # fmt: skip
    assert client.run("SELECT hostile(1)") == [(1,)]
    assert client.run("SELECT threads(1)") == [(1,)]


def test_what_functions_print_is_logged_with_a_bound(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    _create(client, "def hostile(a):\n    print('loud', 'x' * 1_000_000)\n    os._exit(0)")
    with caplog.at_level(logging.WARNING, printed.__name__), pytest.raises(ExternalRoutineError):
        client.run("SELECT hostile(1)")
    assert "function hostile prints: loud" in caplog.text
    assert "bytes more" in caplog.text
    assert len(caplog.text) < 10 * printed.LOGGED_BYTES


@pytest.mark.parametrize("body", ["def hostile(a):\n    while True: pass", "while True: pass"])
def test_statement_timeout_ends_a_function(client: Client, body: str) -> None:
    client.run("SET statement_timeout = '500ms'")
    with pytest.raises(SqlError, match="statement timeout"):
        _create(client, body)
        client.run("SELECT hostile(1)")
