"""kill -9 while webhooks are sent: every request that was answered 200 is there once, and no batch is there in part."""

from __future__ import annotations

import http.client
import itertools
import os
import random
import re
import threading
import time
from pathlib import Path

from risingpy.server_process import ServerProcess

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
LINES = 5  # rows of a request
SENDERS = 3


def webhook_port(server: ServerProcess) -> int:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = re.search(r"POST http://[^:]+:(\d+)/", "".join(server.output))
        if found:
            return int(found[1])
        time.sleep(0.01)
    raise AssertionError("the server does not say where its webhooks are")


def send_until_it_dies(port: int, numbers: itertools.count[int], acknowledged: set[int]) -> None:
    """Sends requests, each with a number of its own; keeps the numbers of those that were answered 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        while True:
            number = next(numbers)
            body = "\n".join(f'{{"request": {number}, "line": {line}}}' for line in range(LINES))
            connection.request("POST", "/webhook/dev/public/t", body)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            acknowledged.add(number)
    except (OSError, http.client.HTTPException):
        return  # the server was killed


def test_killed_while_webhooks_come(tmp_path: Path) -> None:
    chance, numbers, acknowledged = random.Random(SEED), itertools.count(), set[int]()
    environ = {**os.environ, "RISINGPY_WEBHOOK_PORT": "0"}
    for number in range(ROUNDS):
        on_spark = bool(number % 2)
        engine = "spark" if on_spark else "inprocess"
        server = ServerProcess(tmp_path / "data", engine=engine, environ=environ)
        try:
            if on_spark:
                server.wait_for_spark()
            if number == 0:
                with server.connect() as connection:
                    connection.execute(
                        "CREATE TABLE t (data jsonb) WITH (connector = 'webhook', is_batched = true);"
                        "CREATE MATERIALIZED VIEW v AS"
                        " SELECT (data->>'request')::int AS request, count(*) AS n FROM t GROUP BY data->>'request'"
                    )
            known, port = len(acknowledged), webhook_port(server)
            senders = [
                threading.Thread(target=send_until_it_dies, args=(port, numbers, acknowledged)) for _ in range(SENDERS)
            ]
            for sender in senders:
                sender.start()
            time.sleep(chance.uniform(1.0, 3.0))
        finally:
            server.kill()
        for sender in senders:
            sender.join()
        assert len(acknowledged) > known
    server = ServerProcess(tmp_path / "data", engine="inprocess", environ=environ)
    try:
        with server.connect() as connection:
            connection.execute("FLUSH")
            stored = connection.execute("SELECT request, n FROM v").fetchall()
    finally:
        server.stop()
    assert acknowledged - {request for request, _ in stored} == set()
    assert {n for _, n in stored} == {LINES}
    # A sender may have one more request in the log than answers, each time the server is killed.
    assert len(stored) <= len(acknowledged) + ROUNDS * SENDERS
