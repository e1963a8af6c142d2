"""Many sessions write to tables with constraints at once: whatever is accepted keeps every constraint."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client

SESSIONS, STATEMENTS, KEYS = 5, 60, 6
REFUSED = {"23505", "23503", "23514", "40P01", "40001"}


def statement(chance: random.Random, next_id: Callable[[], int]) -> str:
    key, other = chance.randint(1, KEYS), chance.randint(1, KEYS)
    return chance.choice(
        [
            f"INSERT INTO p VALUES ({key}, 'c{other}')",
            f"INSERT INTO p VALUES ({key}, 'c{other}'), ({other}, 'c{key}')",
            f"UPDATE p SET code = 'c{other}' WHERE id = {key}",
            f"UPDATE p SET code = code || 'x' WHERE id <= {key}",
            f"DELETE FROM p WHERE id = {key}",
            f"INSERT INTO c VALUES ({next_id()}, {key}, {other})",
            f"INSERT INTO c SELECT {next_id()} + i, 1 + i % {KEYS}, 1000 + i FROM generate_series(1, 80) AS i",
            f"UPDATE c SET pid = {key} WHERE n = {other}",
            f"UPDATE c SET n = {key} WHERE id = {chance.randint(1, 300)}",
            f"DELETE FROM c WHERE pid = {key}",
            f"INSERT INTO c VALUES ({next_id()}, {key}, {other}) ON CONFLICT DO NOTHING",
        ]
    )


def work(client: Client, seed: int, next_id: Callable[[], int], failures: list[BaseException]) -> None:
    chance = random.Random(seed)
    try:
        for _ in range(STATEMENTS):
            texts = [statement(chance, next_id)]
            if chance.random() < 0.3:
                texts = ["BEGIN", *texts, statement(chance, next_id), chance.choice(["COMMIT", "ROLLBACK"])]
            for text in texts:
                try:
                    client.run(text)
                except SqlError as error:
                    if error.sqlstate not in REFUSED:
                        raise
                    if len(texts) > 1:
                        client.run("ROLLBACK")
                    break
    except BaseException as error:
        failures.append(error)


def test_what_is_accepted_keeps_the_constraints(connect: Callable[[], Client]) -> None:
    client = connect()
    client.run("CREATE TABLE p (id int PRIMARY KEY, code varchar UNIQUE)")
    client.run("CREATE TABLE c (id int PRIMARY KEY, pid int REFERENCES p ON DELETE CASCADE, n int UNIQUE)")
    guard, last = threading.Lock(), [0]

    def next_id() -> int:
        with guard:
            last[0] += 100
            return last[0]

    failures: list[BaseException] = []
    workers = [threading.Thread(target=work, args=(connect(), seed, next_id, failures)) for seed in range(SESSIONS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert not failures
    assert not any(worker.is_alive() for worker in workers)
    client.run("FLUSH")
    assert client.run("SELECT code FROM p WHERE code IS NOT NULL GROUP BY code HAVING count(*) > 1") == []
    assert client.run("SELECT n FROM c WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1") == []
    assert client.run("SELECT * FROM c WHERE pid NOT IN (SELECT id FROM p)") == []
    assert client.run("SELECT count(*) FROM c") != [(0,)]
