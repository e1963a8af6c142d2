"""INSERTs that are executed again and again in one series: one write, with the answers of one after the other."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest

from risingpy.frontend.session.repeated_writes import RepeatedWrites
from risingpy.frontend.statements.writes.repeated_insert import RepeatedInsert
from risingpy.frontend.wire import WireServer
from risingpy.frontend.wire.short_path.series import cut_repeats
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers
from tests.frontend.session.writes.short_writes import all_rows
from tests.frontend.session.writes.short_writes import connect as connection_to
from tests.frontend.wire import raw_client as raw

_SERIES = 60
_TABLES = {
    "plain": "CREATE TABLE {} (k int, v varchar(6), n numeric(6, 2))",
    "keyed": "CREATE TABLE {} (k int PRIMARY KEY, v varchar(6), n numeric(6, 2))",
    "guarded": "CREATE TABLE {} (k int PRIMARY KEY, v varchar(6) UNIQUE, n numeric(6, 2) CHECK (n < 900))",
    "numbered": "CREATE TABLE {} (k int, v varchar(6) NOT NULL, n numeric(6, 2), id serial, at int DEFAULT 7)",
}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many executions came at once, each time that this was tried."""
    found: list[int] = []
    run = RepeatedInsert.run

    def noting(self: RepeatedInsert, executions: Sequence[Sequence[object | None]]) -> object:
        found.append(len(executions))
        return run(self, executions)

    monkeypatch.setattr(RepeatedInsert, "run", noting)
    return found


@pytest.mark.parametrize("table", _TABLES)
def test_executemany(client: Client, server: WireServer, taken: list[int], table: str) -> None:
    client.run(_TABLES[table].format("t"))
    rows = [(number, f"v{number}", Decimal(number) / 4) for number in range(500)]
    with connection_to(server) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t (k, v, n) VALUES (%s, %s, %s)", rows)
        assert cursor.rowcount == 500
    assert sum(taken) > 300 and max(taken) > 10
    found = [(row[0], row[1], row[2]) for row in all_rows(client, "t")]
    assert sorted(found) == rows
    if table == "numbered":
        assert sorted((row[0], row[3], row[4]) for row in all_rows(client, "t")) == [(k, k + 1, 7) for k in range(500)]


def test_a_row_that_is_refused_has_its_error_at_its_message(client: Client, taken: list[int]) -> None:
    client.run(_TABLES["guarded"].format("t"))
    answers = _prepared(client, "INSERT INTO t VALUES ($1, $2, $3)")
    for bad, sqlstate in ((b"x", b"22P02"), (b"99999999999", b"22003")):
        said = answers.long(_executions([(b"%d" % k if k != 40 else bad, b"%d" % k, b"1") for k in range(90)]))
        assert _kinds(said) == "2C" * 40 + "EZ" and sqlstate in said
    assert max(taken) > 10
    assert all_rows(client, "t") == []
    said = answers.long(_executions([(b"%d" % k, b"%d" % (k % 77), b"1") for k in range(90)]))
    assert _kinds(said) == "2C" * 77 + "2EZ" and b"23505" in said and b"Key (v)=(0) already exists." in said
    said = answers.long(_executions([(b"%d" % k, b"%d" % k, b"%d" % (k * 30)) for k in range(90)]))
    assert _kinds(said) == "2C" * 30 + "2EZ" and b"23514" in said
    assert all_rows(client, "t") == []


def test_what_a_transaction_has_done_before_stays_after_a_savepoint(client: Client, taken: list[int]) -> None:
    client.run(_TABLES["guarded"].format("t"))
    answers = _prepared(client, "INSERT INTO t VALUES ($1, $2, $3)")
    answers.long(raw.query(b"BEGIN"))
    rows = [(b"%d" % k, b"%d" % k, b"1") for k in range(50)]
    assert _kinds(answers.long(_executions(rows))) == "2C" * 50 + "Z"
    answers.long(raw.query(b"SAVEPOINT s"))
    again = [(b"%d" % k, b"%d" % (k % 80), b"1") for k in range(50, 99)]
    said = answers.long(_executions(again))
    assert _kinds(said) == "2C" * 30 + "2EZ" and said.endswith(b"E")
    answers.long(raw.query(b"ROLLBACK TO s"))
    answers.long(raw.query(b"COMMIT"))
    assert len(all_rows(client, "t")) == 50


def test_a_row_may_refer_to_one_before_it_and_not_to_one_after_it(client: Client, taken: list[int]) -> None:
    client.run("CREATE TABLE t (k int PRIMARY KEY, up int REFERENCES t)")
    answers = _prepared(client, "INSERT INTO t VALUES ($1, $2)")
    assert _kinds(answers.long(_executions([(b"1", None), (b"2", b"1"), (b"3", b"2")]))) == "2C2C2CZ"
    said = answers.long(_executions([(b"4", b"3"), (b"5", b"6"), (b"6", b"4")]))
    assert _kinds(said) == "2C2EZ" and b"23503" in said
    assert not taken
    client.run("CREATE TABLE child (k int, up int REFERENCES t)")
    answers = _prepared(client, "INSERT INTO child VALUES ($1, $2)")
    said = answers.long(_executions([(b"%d" % k, b"%d" % (1 + k % 3)) for k in range(40)]))
    assert _kinds(said) == "2C" * 40 + "Z" and max(taken) > 10
    said = answers.long(_executions([(b"%d" % k, b"%d" % (1 + k % 3 + 3 * (k == 33))) for k in range(40)]))
    assert _kinds(said) == "2C" * 33 + "2EZ" and b"23503" in said
    assert len(all_rows(client, "child")) == 40


def test_other_transactions_see_nothing_before_the_sync(client: Client, server: WireServer, taken: list[int]) -> None:
    client.run("CREATE TABLE t (k int, v varchar)")
    with raw.RawClient(server.port, hello=False) as one:
        packet = (196608).to_bytes(4) + b"user\0root\0database\0dev\0\0"
        one.send((len(packet) + 4).to_bytes(4) + packet)
        one.until("Z")
        one.kinds(raw.parse(b"s", b"INSERT INTO t VALUES ($1, $2)"), raw.SYNC)
        rows = [(b"%d" % k, b"v") for k in range(200)]
        one.send(_executions(rows)[: -len(raw.SYNC)], raw.FLUSH)
        assert "".join(kind for kind, _ in one.until("C", 200)) == "2C" * 200
        assert client.run("SELECT count(*) FROM t") == [(0,)]
        one.kinds(raw.SYNC)
    assert sum(taken) > 100
    client.run("FLUSH")
    assert client.run("SELECT count(*) FROM t") == [(200,)]


def test_statements_are_counted(client: Client, taken: list[int]) -> None:
    client.run("CREATE TABLE t (k int)")
    answers = _prepared(client, "INSERT INTO t VALUES ($1)")
    times = client.session.context.database.sessions.statement_times
    answers.long(_executions([(b"1",)] * 100))
    assert taken and times.durations()["Insert"].number == 100


def test_logged_statements_come_one_by_one(client: Client, taken: list[int]) -> None:
    client.run("CREATE TABLE t (k int)")
    client.run("SET log_statement = 'mod'")
    answers = _prepared(client, "INSERT INTO t VALUES ($1)")
    assert _kinds(answers.long(_executions([(b"1",)] * 9))) == "2C" * 9 + "Z"
    assert not taken


def test_a_read_only_transaction_refuses(client: Client, taken: list[int]) -> None:
    client.run("CREATE TABLE t (k int)")
    answers = _prepared(client, "INSERT INTO t VALUES ($1)")
    answers.long(raw.query(b"BEGIN READ ONLY"))
    said = answers.long(_executions([(b"1",)] * 9))
    assert _kinds(said) == "2EZ" and b"25006" in said


@pytest.mark.parametrize("seed", range(6))
def test_random_series_say_the_same_one_by_one(
    connect: Callable[[], Client], monkeypatch: pytest.MonkeyPatch, taken: list[int], seed: int
) -> None:
    """Byte for byte, with errors of values and of constraints, in blocks and without, over tables of all kinds."""
    chance = random.Random(seed)
    alone, together = (Answers(connect().session) for _ in range(2))
    for name, definition in _TABLES.items():
        oids = _oids(chance)
        for answers, table in ((alone, f"{name}_a"), (together, f"{name}_t")):
            answers.long(raw.query(definition.format(table).encode()))
            text = f"INSERT INTO {table} (k, v, n) VALUES ($1, $2, $3)"
            answers.long(raw.parse(name.encode(), text.encode(), oids) + raw.SYNC)
    most = RepeatedWrites.most
    monkeypatch.setattr(
        RepeatedWrites, "most", lambda self, p: most(self, p) if self is together.session.context.short.repeated else 0
    )
    for _ in range(_SERIES):
        data = _series(chance)
        said = [answers.long(data) for answers in (alone, together)]
        assert _told(said[0]) == _told(said[1]), data
    for answers in (alone, together):
        answers.long(raw.query(b"COMMIT"))
    client = connect()
    for name in _TABLES:
        assert all_rows(client, f"{name}_a") == all_rows(client, f"{name}_t")
    assert sum(taken) > _SERIES


def _oids(chance: random.Random) -> tuple[int, ...]:
    return chance.choice([(), (23, 1043, 1700), (23,)])


def _series(chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return raw.query(chance.choice([b"BEGIN", b"COMMIT", b"ROLLBACK", b"SAVEPOINT s", b"ROLLBACK TO s"]))
    parts = []
    for _ in range(chance.randint(1, 3)):
        name, describes = chance.choice(list(_TABLES)).encode(), chance.random() < 0.3
        is_bad = chance.random() < 0.3
        for _ in range(chance.choice([1, 2, 5, 40])):
            values = (_key(chance, is_bad), _text(chance, is_bad), _number(chance, is_bad))
            parts.append(raw.bind(b"", name, values))
            parts += [raw.describe(b"P")] * describes
            parts.append(raw.execute())
    return b"".join(parts) + raw.SYNC


def _key(chance: random.Random, is_bad: bool) -> bytes:
    return (
        b"%d" % chance.randint(0, 5000)
        if not is_bad or chance.random() < 0.98
        else chance.choice([b"x", b"", b"1" * 11])
    )


def _text(chance: random.Random, is_bad: bool) -> bytes | None:
    if is_bad and chance.random() < 0.05:
        return chance.choice([None, b"longer than six", b"\xff", b"a\0b"])
    return b"%d" % chance.randint(0, 5000)


def _number(chance: random.Random, is_bad: bool) -> bytes | None:
    if is_bad and chance.random() < 0.05:
        return chance.choice([b"901", b"12345", b"NaN", None])
    return chance.choice([b"1", b"2.345", b"-7.5", None])


def _told(said: bytes) -> bytes:
    """Without the names of the two tables, and their indexes, in errors."""
    return (
        said.replace(b"_a_", b"_?_")
        .replace(b"_t_", b"_?_")
        .replace(b'_a"', b'_?"')
        .replace(b'_t"', b'_?"')
        .replace(b"_a\0", b"_?\0")
        .replace(b"_t\0", b"_?\0")
    )


def test_what_is_cut(client: Client) -> None:
    """Only whole executions of one form, whatever stands after them, and however much of them has come."""
    one = raw.bind(b"", b"s", (b"1", None)) + raw.execute()
    described = raw.bind(b"", b"s", (b"1", b"2")) + raw.describe(b"P") + raw.execute()
    for count in range(4):
        for rest in (b"", raw.SYNC, raw.bind(b"", b"t", (b"1", None)), raw.execute(), described, one[:-1]):
            found = cut_repeats(one * count + rest, 9)
            if count == 0 and rest == described:
                assert found is not None and found.form.describes and found.ends == [len(described)]
            else:
                assert (0 if found is None else len(found.ends)) == count
    found = cut_repeats(one * 9, 4)
    assert found is not None and found.ends == [len(one) * n for n in range(1, 5)]
    assert found.values == [[b"1", None]] * 4 and found.form.statement == "s"
    for end in range(len(described)):
        assert cut_repeats(described[:end], 9) is None
    assert cut_repeats(raw.bind(b"p", b"s", (b"1",)) + raw.execute(b"p"), 9) is None
    assert cut_repeats(raw.bind(b"", b"s", (b"1",)) + raw.execute(b"p"), 9) is None
    assert cut_repeats(raw.bind(b"", b"s", (b"1",)) + raw.describe(b"S", b"s") + raw.execute(), 9) is None
    chance = random.Random(7)
    for _ in range(3000):
        data = bytearray(one * 3)
        data[chance.randrange(len(data))] = chance.randrange(256)
        cut_repeats(bytes(data), 9)  # raises nothing


def _prepared(client: Client, text: str) -> Answers:
    answers = Answers(client.session)
    client.session.statements.pop("s", None)
    assert _kinds(answers.long(raw.parse(b"s", text.encode()) + raw.SYNC)) == "1Z"
    return answers


def _executions(rows: Sequence[Sequence[bytes | None]]) -> bytes:
    return b"".join(raw.bind(b"", b"s", row) + raw.execute() for row in rows) + raw.SYNC


def _kinds(said: bytes) -> str:
    found, at = "", 0
    while at < len(said):
        found += chr(said[at])
        at += 1 + struct.unpack_from("!I", said, at + 1)[0]
    return found
