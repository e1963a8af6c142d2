"""visibility_mode: whom a SELECT waits for, while epochs stand still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from risingpy.errors import NumericValueOutOfRange, QueryCanceled
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers
from tests.frontend.wire import raw_client as raw
from tests.held_epochs import HeldRunner
from tests.held_epochs import database as database
from tests.held_epochs import runner as runner

Rows = list[tuple[object, ...]]
STILL_SECONDS = 0.3  # a read that has not answered by then waits


@pytest.fixture
def writer(connect: Callable[[], Client]) -> Client:
    """A session that has made two tables, views over one of them, and a sink from it into a third."""
    client = connect()
    for sql in (
        "CREATE TABLE t (id int PRIMARY KEY, n int)",
        "CREATE TABLE other (id int PRIMARY KEY, n int)",
        "CREATE TABLE copies (id int PRIMARY KEY, n int)",
        "CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM t",
        "CREATE MATERIALIZED VIEW twice AS SELECT 2 * n AS n FROM total",
        "CREATE VIEW plain AS SELECT n FROM twice",
        "CREATE INDEX by_n ON t (n)",
        "CREATE SINK s INTO copies AS SELECT id, n FROM t",
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO other VALUES (1, 1)",
        "FLUSH",
    ):
        client.run(sql)
    return client


@pytest.fixture
def in_background() -> Iterator[Callable[[Client, str], Future[Rows]]]:
    with ThreadPoolExecutor(8) as pool:
        yield lambda client, sql: pool.submit(client.run, sql)


def still_waits(read: Future[Rows]) -> bool:
    try:
        read.result(STILL_SECONDS)
    except TimeoutError:
        return True
    return False


READS: list[tuple[str, Rows]] = [
    ("SELECT n FROM t WHERE id <= 1", [(5,)]),
    ("SELECT id FROM t WHERE n = 5", [(1,)]),
    ("SELECT n FROM total", [(5,)]),
    ("SELECT n FROM plain", [(10,)]),
    ("SELECT n FROM copies", [(5,)]),
    ("SELECT other.n FROM other, total", [(1,)]),
    ("SELECT (SELECT max(n) FROM t) FROM other", [(5,)]),
]


@pytest.mark.parametrize(("sql", "rows"), READS)
def test_a_read_waits_for_what_another_session_wrote_below_it(
    writer: Client,
    connect: Callable[[], Client],
    runner: HeldRunner,
    in_background: Callable[[Client, str], Future[Rows]],
    sql: str,
    rows: Rows,
) -> None:
    reader = connect()
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (1, 5)")
    read = in_background(reader, sql)
    waits = still_waits(read)
    runner.may_run.set()
    assert read.result(20) == rows
    assert waits


def test_no_read_waits_for_writes_that_do_not_reach_it(
    writer: Client, connect: Callable[[], Client], runner: HeldRunner
) -> None:
    reader = connect()
    runner.may_run.clear()
    try:
        writer.run("INSERT INTO other VALUES (1, 7)")
        assert [reader.run(sql) for sql in ("SELECT n FROM t", "SELECT n FROM plain", "SELECT n FROM copies")] == [
            [(1,)],
            [(2,)],
            [(1,)],
        ]
        assert writer.run("SELECT n FROM t") == [(1,)]  # not even those of its own session
    finally:
        runner.may_run.set()
    assert reader.run("SELECT n FROM other") == [(7,)]


@pytest.mark.parametrize(
    ("mode", "others_wait", "own_wait"), [("read_your_writes", False, True), ("checkpoint", False, False)]
)
def test_weaker_modes_wait_for_less(
    writer: Client,
    connect: Callable[[], Client],
    runner: HeldRunner,
    in_background: Callable[[Client, str], Future[Rows]],
    mode: str,
    others_wait: bool,
    own_wait: bool,
) -> None:
    reader = connect()
    for client in (reader, writer):
        client.run(f"SET visibility_mode = '{mode}'")
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (1, 5)")
    others, own = (in_background(client, "SELECT n FROM total") for client in (reader, writer))
    waited = [still_waits(others), still_waits(own)]
    runner.may_run.set()
    assert waited == [others_wait, own_wait]
    assert others.result(20) == [(1,)]
    assert own.result(20) == ([(5,)] if own_wait else [(1,)])


def test_a_strict_read_that_waits_can_be_cancelled(
    writer: Client,
    connect: Callable[[], Client],
    runner: HeldRunner,
    in_background: Callable[[Client, str], Future[Rows]],
) -> None:
    reader = connect()
    runner.may_run.clear()
    writer.run("INSERT INTO t VALUES (1, 5)")
    read = in_background(reader, "SELECT n FROM total")
    assert still_waits(read)
    reader.session.cancel()
    with pytest.raises(QueryCanceled):
        read.result(20)
    runner.may_run.set()


def test_after_a_restart_a_read_waits_for_the_rows_that_the_log_has(
    tmp_path: Path, in_background: Callable[[Client, str], Future[Rows]]
) -> None:
    directory = tmp_path / "restarted"
    held = HeldRunner(directory)
    first = Database(directory, parallelism=2)
    first.start(held)
    client = Client(open_session(first, StartupParameters("root", "dev", {}, process_id=7)))
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)")
    client.run("CREATE TABLE other (id int PRIMARY KEY, n int)")
    first.close()
    second = Database(directory, parallelism=2)  # without a runner: what is written stays in the log
    client = Client(open_session(second, StartupParameters("root", "dev", {}, process_id=7)))
    client.run("INSERT INTO t VALUES (1, 5)")
    second.close()
    third = Database(directory, parallelism=2)
    reader = Client(open_session(third, StartupParameters("root", "dev", {}, process_id=7)))
    try:
        read = in_background(reader, "SELECT n FROM t")
        waits = still_waits(read)
        another = Client(open_session(third, StartupParameters("root", "dev", {}, process_id=8)))
        assert another.run("SELECT n FROM other") == []
        third.start(InProcessRunner(directory))
        assert read.result(20) == [(5,)]
        assert waits
    finally:
        third.close()


def _answers(client: Client, table: str) -> Answers:
    """With a statement `s` that selects a row by its key."""
    answers = Answers(client.session)
    answers.long(raw.parse(b"s", f"SELECT * FROM {table} WHERE id = $1".encode()) + raw.SYNC)
    return answers


def _by_key(key: int) -> bytes:
    return raw.bind(b"", b"s", [b"%d" % key]) + raw.execute() + raw.SYNC


def test_a_read_by_key_waits_for_no_epoch(writer: Client, connect: Callable[[], Client], runner: HeldRunner) -> None:
    reader = connect()
    answers = _answers(reader, "t")
    runner.may_run.clear()
    expected: dict[int, Rows] = {1: [(1, 1)], 2: []}
    for sql, key, row in [
        ("INSERT INTO t VALUES (2, 20)", 2, (2, 20)),
        ("UPDATE t SET n = n + 1 WHERE id = 2", 2, (2, 21)),
        ("UPDATE t SET n = NULL WHERE id = 1", 1, (1, None)),
        ("DELETE FROM t WHERE id = 2", 2, None),
        ("INSERT INTO t VALUES (1, 7), (2, 8)", 1, (1, 7)),
        ("BEGIN; UPDATE t SET n = 9 WHERE id = 1; COMMIT", 1, (1, 9)),
    ]:
        writer.run(sql)
        expected[key] = [] if row is None else [row]
        expected[2] = [(2, 8)] if "8" in sql else expected[2]
        for other, rows in expected.items():
            assert reader.run(f"SELECT * FROM t WHERE id = {other}") == rows
            assert answers.short(_by_key(other)) == answers.long(_by_key(other)) is not None
        assert reader.run("SELECT * FROM t WHERE id = 3") == []


def test_a_transaction_reads_its_own_rows_by_key(writer: Client, runner: HeldRunner) -> None:
    runner.may_run.clear()
    writer.run("UPDATE t SET n = 2 WHERE id = 1")
    writer.run("BEGIN")
    assert writer.run("SELECT n FROM t WHERE id = 1") == [(2,)]
    writer.run("UPDATE t SET n = n + 1 WHERE id = 1")
    writer.run("INSERT INTO t VALUES (5, 5)")
    assert writer.run("SELECT n FROM t WHERE id = 1") == [(3,)]
    assert writer.run("SELECT n FROM t WHERE id = 5") == [(5,)]
    writer.run("DELETE FROM t WHERE id = 1")
    assert writer.run("SELECT n FROM t WHERE id = 1") == []
    writer.run("ROLLBACK")
    assert writer.run("SELECT n FROM t WHERE id = 1") == [(2,)]


def test_rows_of_all_types_are_read_in_the_log(connect: Callable[[], Client], runner: HeldRunner) -> None:
    client = connect()
    columns = (
        "b boolean, s smallint, i int, l bigint, r real, d double precision, m numeric(10, 2), w numeric, t varchar, "
        "c char(5), y bytea, u uuid, da date, ti time, ts timestamp, tz timestamptz, iv interval, j jsonb"
    )
    client.run(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns})")
    answers = _answers(client, "kinds")
    runner.may_run.clear()
    client.run(
        "INSERT INTO kinds VALUES (1, true, -5, 7, 9000000000, 1.5, -2.25, 12.30, 1.500, 'Grüße', "
        "'ab', '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '2026-11-25', '03:04:05.6', '2026-11-25 03:04:05', "
        "'2026-11-25 03:04:05+01', '1 mon 2 days', '{\"a\": 1}')"
    )
    client.run("INSERT INTO kinds (id) VALUES (3), (4)")
    in_log = {key: answers.short(_by_key(key)) for key in (1, 3)}
    runner.may_run.set()
    client.run("FLUSH")
    assert in_log == {key: answers.short(_by_key(key)) for key in (1, 3)}
    assert in_log == {key: answers.long(_by_key(key)) for key in (1, 3)}


def test_rows_of_large_statements_are_waited_for(
    writer: Client,
    connect: Callable[[], Client],
    runner: HeldRunner,
    in_background: Callable[[Client, str], Future[Rows]],
) -> None:
    """The log does not know them one by one."""
    reader = connect()
    answers = _answers(reader, "t")
    runner.may_run.clear()
    writer.run("INSERT INTO t SELECT g, g FROM generate_series(1, 1000) AS g")
    assert answers.short(_by_key(5)) is None
    read = in_background(reader, "SELECT n FROM t WHERE id = 5")
    assert still_waits(read)
    runner.may_run.set()
    assert read.result(30) == [(5,)]


def test_an_altered_table_has_its_new_form(writer: Client, connect: Callable[[], Client], runner: HeldRunner) -> None:
    reader = connect()
    answers = _answers(reader, "t")
    runner.may_run.clear()
    writer.run("UPDATE t SET n = 50 WHERE id = 1")
    runner.may_run.set()
    writer.run("ALTER TABLE t ADD COLUMN more int DEFAULT 6")
    assert answers.short(_by_key(1)) is None
    assert reader.run("SELECT n, more FROM t WHERE id = 1") == [(50, 6)]


def test_inserts_that_compute_wait_for_no_epoch(connect: Callable[[], Client], runner: HeldRunner) -> None:
    """They read nothing: not a number of a sequence, the time, or a sum of parameters, and not what DuckDB computes."""
    client = connect()
    client.run(
        "CREATE TABLE numbered "
        "(id serial PRIMARY KEY, small smallserial, at timestamptz DEFAULT now(), n int, u varchar)"
    )
    client.run("CREATE SEQUENCE s INCREMENT BY -2")
    runner.may_run.clear()
    for number in range(1, 4):
        client.run("INSERT INTO numbered (n, u) VALUES ($1::int + 1, upper($2)), ($1, 'b')", number, f"x{number}")
    assert client.run("SELECT nextval('s'), 1, nextval('s')") == [(-1, 1, -3)]
    assert client.run("SELECT currval('s'), lastval()") == [(-3, -3)]
    rows = [client.run(f"SELECT id, small, n, u FROM numbered WHERE id = {key}")[0] for key in range(1, 7)]
    assert [row[:2] for row in rows] == [(key, key) for key in range(1, 7)]
    assert [row[2:] for row in rows] == [(2, "X1"), (1, "b"), (3, "X2"), (2, "b"), (4, "X3"), (3, "b")]
    times = {client.run(f"SELECT at FROM numbered WHERE id = {key}")[0][0] for key in range(1, 7)}
    assert len(times) == 3  # one for all rows of a statement
    assert client.run("SELECT now() < now() + INTERVAL '1 second'") == [(True,)]


def test_numbers_that_do_not_fit_are_refused(connect: Callable[[], Client]) -> None:
    client = connect()
    client.run("CREATE SEQUENCE big START 3000000000")
    client.run("CREATE TABLE few (id int DEFAULT nextval('big') PRIMARY KEY, v int)")
    with pytest.raises(NumericValueOutOfRange, match="integer out of range"):
        client.run("INSERT INTO few (v) VALUES (1)")
    assert client.run("SELECT count(*) FROM few") == [(0,)]
    assert client.run("SELECT nextval('big')") == [(3000000001,)]
