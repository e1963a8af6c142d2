"""Reads of one row by its key are answered in short, with the very bytes of the long way; all else is left to it."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers, prepare, series
from tests.frontend.wire import raw_client as raw

_COLUMNS = (
    "b boolean, s smallint, i int, l bigint, r real, d double precision, m numeric(10, 2), w numeric, t varchar, "
    "v varchar(20), c char(5), y bytea, u uuid, da date, ti time, ts timestamp, tz timestamptz, iv interval, j jsonb"
)
_NAMES = ", ".join(part.split()[0] for part in _COLUMNS.replace("(10, 2)", "").split(", "))
_ROW = (
    "true, -5, 7, 9000000000, 1.5, -2.25, 12.30, 1.500, 'Grüße', 'short', 'ab', '\\x00ff', "
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-11-25', '03:04:05.6', '2026-11-25 03:04:05', "
    "'2026-11-25 03:04:05+01', '1 mon 2 days', '{\"a\": 1}'"
)
_KEY = (b"1", b"x")
_BIG = 4 << 20


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests, with columns of all types, and a view."""
    opened = Database(tmp_path_factory.mktemp("short") / "data", parallelism=2)
    opened.start(InProcessRunner(opened.data_dir))
    client = Client(open_session(opened, StartupParameters("root", "dev")))
    client.run(f"CREATE TABLE kinds (k int, n varchar, {_COLUMNS}, PRIMARY KEY (k, n))")
    client.run(f"INSERT INTO kinds VALUES (1, 'x', {_ROW})")
    client.run("INSERT INTO kinds (k, n) VALUES (2, 'nothing'), (-3, '')")
    client.run("CREATE MATERIALIZED VIEW sums AS SELECT k, count(*) AS n, sum(l) AS l FROM kinds GROUP BY k")
    client.run("CREATE TABLE ids (id uuid PRIMARY KEY, flag boolean)")
    client.run("INSERT INTO ids VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true)")
    client.run("CREATE TABLE flags (f boolean, n smallint, v int, PRIMARY KEY (f, n))")
    client.run("INSERT INTO flags VALUES (true, 5, 50), (false, -5, NULL)")
    client.run("FLUSH")
    client.session.close()
    yield opened
    opened.close()


@pytest.fixture
def many(client: Client) -> Answers:
    """A session with statements that are prepared."""
    answers = Answers(client.session)
    prepare(answers, b"all", f"SELECT {_NAMES} FROM kinds WHERE k = $1 AND n = $2")
    prepare(answers, b"some", "SELECT n, t, k, n FROM kinds WHERE n = $2 AND k = $1")
    prepare(answers, b"sums", "SELECT * FROM sums WHERE k = $1")
    prepare(answers, b"one", "SELECT i, k FROM kinds WHERE k = 1 AND n = $1")
    return answers


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_all_types_in_both_forms(many: Answers, client: Client, zone: str) -> None:
    client.run(f"SET TimeZone = '{zone}'")
    many.long(series(b"all", _KEY))  # binds the statement again, for the zone
    for results, describes in product([(), (0,), (1,), tuple(i % 2 for i in range(19))], [True, False]):
        asked = series(b"all", _KEY, (), results, describes=describes)
        said = many.short(asked)
        assert said is not None
        assert said == many.long(asked)


_SERIES = [
    series(b"some", (b"2", b"nothing")),
    series(b"some", (b"-3", b"")),
    series(b"some", (b"4", b"none")),
    series(b"some", (None, b"x")),
    series(b"some", (b" +1 ", b"x")),
    series(b"some", (b"\0\0\0\1", b"x"), (1, 0), (1,)),
    series(b"sums", (b"1",)),
    series(b"sums", (b"\0\0\0\2",), (1,), (1, 1, 1), describes=False),
    series(b"one", (b"x",), (0,)),
    *(raw.bind(b"", b"one", (name,)) + raw.execute(limit=n) + raw.SYNC for n in (1, 2, -1) for name in (b"x", b"y")),
]


@pytest.mark.parametrize("asked", _SERIES, ids=range(len(_SERIES)))
def test_prepared_statements(many: Answers, asked: bytes) -> None:
    said = many.short(asked)
    assert said is not None
    assert said == many.long(asked) == many.short(asked)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("SELECT flag FROM ids WHERE id = $1", (b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",)),
        ("SELECT * FROM ids WHERE id = $1", (b"a0eebc999c0b4ef8bb6d6bb9bd380a12",)),
        ("SELECT v, n, f FROM flags WHERE f = $1 AND n = $2", (b"yes", b"5")),
        ("SELECT v, n, f FROM flags WHERE f = $1 AND n = $2", (b"f", b"-5")),
    ],
)
def test_keys_of_other_types(many: Answers, text: str, values: tuple[bytes, ...]) -> None:
    prepare(many, b"s", text)
    said = many.short(series(b"s", values))
    assert said is not None
    assert said == many.long(series(b"s", values))


def test_texts_that_recur(many: Answers) -> None:
    for key in (1, 2):
        many.long(raw.query(b"SELECT i, t FROM kinds WHERE k = %d AND n = 'x'" % key))
    for key, name in ((1, b"x"), (-3, b""), (9, b"x")):
        asked = raw.query(b"SELECT i, t FROM kinds WHERE k = %d AND n = '%b'" % (key, name))
        said = many.short(asked)
        assert said is not None
        assert said == many.long(asked)
    assert many.short(raw.query(b"SELECT i, s FROM kinds WHERE k = 1 AND n = 'x'")) is None


_OTHER = [
    *(series(b"none", _KEY), series(b"some", (b"1",)), series(b"some", (b"one", b"x"))),
    *(series(b"some", (b"99999999999", b"x")), series(b"some", (b"1", b"\xff"))),
    *(series(b"some", (b"1", b"x"), (7,)), series(b"some", _KEY, (), (1, 1))),
    raw.bind(b"p", b"some", _KEY) + raw.execute(b"p") + raw.SYNC,
    raw.bind(b"", b"some", _KEY) + raw.SYNC,
    raw.bind(b"", b"some", _KEY) + raw.execute() + raw.FLUSH + raw.SYNC,
    series(b"some", _KEY) * 2,
    raw.query(b"SELECT 1"),
    raw.query(b""),
]


@pytest.mark.parametrize("asked", _OTHER, ids=range(len(_OTHER)))
def test_other_requests_are_left_to_the_conversation(many: Answers, asked: bytes) -> None:
    before = many.long(asked)
    assert many.short(asked) is None
    assert many.long(asked) == before
    assert many.short(series(b"some", _KEY)) is not None


def test_whatever_comes_has_one_answer(many: Answers) -> None:
    """Mutated bytes: the short path answers as the conversation, or not at all."""
    chosen, in_short = random.Random(5), 0
    for _ in range(3000):
        data = bytearray(chosen.choice(_SERIES))
        for _ in range(chosen.randint(0, 2)):
            data[chosen.randrange(len(data))] = chosen.choice([0, 1, 2, 4, 49, 50, 255, chosen.getrandbits(8)])
        said = many.short(bytes(data))
        if said is not None:
            in_short += 1
            assert said == many.long(bytes(data)), bytes(data)
    assert in_short > 500


def _is_short(answers: Answers, name: bytes = b"some") -> bool:
    return answers.short(series(name, _KEY)) is not None


def test_a_transaction_reads_its_own_changes(many: Answers, client: Client) -> None:
    """In short or in the long way: after a large change only that can know the row."""
    for statement in (b"BEGIN", b"DELETE FROM kinds"):
        many.long(raw.query(statement))
        found = many.long(series(b"some", _KEY))
        assert many.short(series(b"some", _KEY)) in (None, found)
    assert b"SELECT 0" in found
    many.long(raw.query(b"ROLLBACK"))
    assert _is_short(many)


def test_what_is_logged_takes_the_long_way(many: Answers, client: Client) -> None:
    for setting in ("log_statement = 'all'", "log_min_duration_statement = 0"):
        assert _is_short(many)
        client.run(f"SET {setting}")
        assert not _is_short(many)
        client.run(f"RESET {setting.split()[0]}")
    assert _is_short(many)


@pytest.mark.parametrize(
    "change",
    ["ADD COLUMN more int DEFAULT 5", "ALTER COLUMN v TYPE bigint", "RENAME COLUMN v TO w", "DROP COLUMN v"],
)
def test_an_altered_table(many: Answers, client: Client, connect: Callable[[], Client], change: str) -> None:
    """A short read of an old plan would show the old columns."""
    table = f"altered_{change.split()[0]}_{change.split()[2]}"
    client.run(f"CREATE TABLE {table} (id int PRIMARY KEY, v int)")
    client.run(f"INSERT INTO {table} VALUES (1, 10), (2, NULL)")
    client.run("FLUSH")
    prepare(many, b"t", f"SELECT * FROM {table} WHERE id = $1")
    asked = series(b"t", (b"1",))
    assert many.short(asked) is not None
    other = connect()
    other.run(f"ALTER TABLE {table} {change}")
    assert many.short(asked) is None
    many.long(asked)
    prepare(many, b"u", f"SELECT * FROM {table} WHERE id = $1")
    other.run(f"INSERT INTO {table} (id) VALUES (3)")
    other.run("FLUSH")
    for key in (b"1", b"2", b"3"):
        said = many.short(series(b"u", (key,)))
        assert said is None or said == many.long(series(b"u", (key,)))


def test_a_dropped_table_and_another_of_its_name(many: Answers, connect: Callable[[], Client]) -> None:
    prepare(many, b"f", "SELECT v FROM flags WHERE f = $1 AND n = $2")
    asked = series(b"f", (b"t", b"5"))
    assert many.short(asked) is not None
    other = connect()
    other.run("DROP TABLE flags")
    assert many.short(asked) is None
    assert b"42P01" in many.long(asked)
    other.run("CREATE TABLE flags (f boolean, n smallint, v int, PRIMARY KEY (f, n))")
    other.run("INSERT INTO flags VALUES (true, 5, 51)")
    other.run("FLUSH")
    assert b"51" in many.long(asked)
    assert many.short(asked) == many.long(asked)


def test_a_right_that_is_gone(many: Answers, client: Client, connect: Callable[[], Client]) -> None:
    client.run("CREATE USER reader")
    client.run("GRANT SELECT ON kinds TO reader")
    client.run("SET ROLE reader")
    many.long(series(b"some", _KEY))
    assert _is_short(many)
    connect().run("REVOKE SELECT ON kinds FROM reader")
    assert not _is_short(many)
    assert b"42501" in many.long(series(b"some", _KEY))
    client.run("RESET ROLE")
    many.long(series(b"some", _KEY))
    assert _is_short(many)


def test_another_statement_of_the_name(many: Answers) -> None:
    assert _is_short(many)
    many.long(raw.close(b"S", b"some") + raw.SYNC)
    assert not _is_short(many)
    prepare(many, b"some", "SELECT l FROM kinds WHERE k = $1 AND n = $2")
    assert many.short(series(b"some", _KEY)) == many.long(series(b"some", _KEY))


def test_newer_epochs_are_read(many: Answers, connect: Callable[[], Client]) -> None:
    other = connect()
    for value in range(20):
        other.run(f"UPDATE kinds SET i = {value} WHERE k = 1 AND n = 'x'")
        other.run("FLUSH")
        said = many.short(series(b"one", (b"x",)))
        assert said is not None and b"\0\0\0%c%d" % (len(str(value)), value) in said


def test_it_is_seen_and_counted(many: Answers, client: Client, database: Database) -> None:
    many.long(series(b"some", _KEY))
    counted = database.sessions.statement_times.durations()["Select"].number
    assert _is_short(many)
    assert database.sessions.statement_times.durations()["Select"].number == counted + 1
    activity = next(each for each in database.sessions.activities() if each.process_id == 7)
    assert activity.query == "SELECT n, t, k, n FROM kinds WHERE n = $2 AND k = $1"
    assert activity.state.value == "idle"


def test_a_client_that_takes_nothing_stops_nobody(client: Client, server: WireServer) -> None:
    """Its rows are larger than the socket's buffers: they wait in a thread, and not in the loop."""
    client.run("CREATE TABLE texts (id int PRIMARY KEY, t varchar)")
    client.run(f"INSERT INTO texts VALUES (1, repeat('x', {_BIG})), (2, 'small')")
    client.run("FLUSH")
    slow, quick = (raw.RawClient(server.port, hello=False) for _ in range(2))
    for each in (slow, quick):
        packet = (196608).to_bytes(4) + b"user\0root\0database\0dev\0\0"
        each.send((len(packet) + 4).to_bytes(4) + packet)
        assert each.until("Z")
    with slow, quick:
        for each in (slow, quick):
            each.send(raw.parse(b"s", b"SELECT t FROM texts WHERE id = $1") + raw.SYNC)
            each.until("Z")
            each.send(series(b"s", (b"2",)))
            assert each.until("Z")
        time.sleep(0.1)  # both are parked
        slow.send(series(b"s", (b"1",)))
        time.sleep(0.1)
        for _ in range(100):
            quick.send(series(b"s", (b"2",)))
            assert [kind for kind, _ in quick.until("Z")] == ["2", "T", "D", "C", "Z"]
        slow.socket.settimeout(30)
        rows = dict(slow.until("Z"))
        assert rows["D"][6:] == b"x" * _BIG
        slow.socket.shutdown(socket.SHUT_WR)
