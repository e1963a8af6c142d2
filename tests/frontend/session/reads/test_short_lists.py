"""Reads of a few rows by an index, or by a key's first columns, are answered in short, as the long way does."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from risingpy.batch.prefix_reads import MOST_BYTES, MOST_ROWS
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers, prepare, series
from tests.frontend.wire import raw_client as raw

_TYPES = {
    "boolean": ("true", b"t"),
    "smallint": ("-5", b"-5"),
    "int": ("7", b"7"),
    "bigint": ("9000000000", b"9000000000"),
    "numeric(10, 2)": ("12.30", b"12.3"),
    "numeric": ("1e30", b"1000000000000000000000000000000.0"),
    "varchar": ("'Grüße'", "Grüße".encode()),
    "varchar(20)": ("'short'", b"short"),
    "bytea": ("'\\x00ff'", b"\\x00ff"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "date": ("'2026-11-25'", b"2026-11-25"),
    "timestamp": ("'2026-11-25 03:04:05'", b"2026-11-25 03:04:05"),
    "timestamptz": ("'2026-11-25 03:04:05+01'", b"2026-11-25 02:04:05+00"),
}
_NAMES = [f"c{number}" for number in range(len(_TYPES))]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A table with an index of each type, a view over it, and a table with a key of two columns."""
    opened = Database(tmp_path_factory.mktemp("lists") / "data", parallelism=2)
    opened.start(InProcessRunner(opened.data_dir))
    client = Client(open_session(opened, StartupParameters("root", "dev")))
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(_NAMES, _TYPES, strict=True))
    client.run(f"CREATE TABLE kinds (id int PRIMARY KEY, {columns})")
    values = ", ".join(value for value, _ in _TYPES.values())
    client.run(f"INSERT INTO kinds VALUES (1, {values}), (2, {values})")
    client.run("INSERT INTO kinds (id) VALUES (3)")
    for name in _NAMES:
        client.run(f"CREATE INDEX by_{name} ON kinds ({name})")
    client.run("CREATE TABLE t (id int PRIMARY KEY, g int, s varchar)")
    client.run("CREATE INDEX by_g ON t (g)")
    client.run(f"INSERT INTO t SELECT i, 1, 'x' || i FROM generate_series(1, {MOST_ROWS}) i")
    client.run(f"INSERT INTO t SELECT 1000 + i, 2, NULL FROM generate_series(1, {MOST_ROWS + 1}) i")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT g, s, count(*) AS n FROM t GROUP BY g, s")
    client.run("CREATE INDEX by_s ON v (s)")
    client.run("FLUSH")
    client.session.close()
    yield opened
    opened.close()


@pytest.fixture
def answers(client: Client) -> Answers:
    return Answers(client.session)


def _prepared(answers: Answers, text: str) -> None:
    prepare(answers, b"s", text)


def _asked(*values: bytes | None, results: tuple[int, ...] = (), describes: bool = True) -> bytes:
    return series(b"s", values, (), results, describes=describes)


@pytest.mark.parametrize("name", _NAMES)
def test_an_index_of_each_type(answers: Answers, name: str) -> None:
    value = list(_TYPES.values())[_NAMES.index(name)][1]
    _prepared(answers, f"SELECT {', '.join(_NAMES)}, id FROM kinds WHERE {name} = $1")
    for results, describes in product([(), (0,), (1,)], [True, False]):
        asked = _asked(value, results=results, describes=describes)
        said = answers.short(asked)
        assert said is not None and b"SELECT 2" in said
        assert said == answers.long(asked)
    assert answers.short(_asked(None)) == answers.long(_asked(None))


def test_as_many_rows_as_take_no_time(answers: Answers) -> None:
    _prepared(answers, "SELECT s, id FROM t WHERE g = $1")
    said = answers.short(_asked(b"1"))
    assert said is not None and b"SELECT %d" % MOST_ROWS in said
    assert said == answers.long(_asked(b"1"))
    assert answers.short(_asked(b"2")) is None
    assert b"SELECT %d" % (MOST_ROWS + 1) in answers.long(_asked(b"2"))
    assert answers.short(_asked(b"9")) == answers.long(_asked(b"9"))


def test_rows_that_are_large_take_the_long_way(answers: Answers, client: Client) -> None:
    _prepared(answers, "SELECT s FROM t WHERE g = $1")
    client.run(f"INSERT INTO t VALUES (9000, 5, repeat('x', {MOST_BYTES}))")
    client.run("FLUSH")
    assert answers.short(_asked(b"5")) is None
    assert len(answers.long(_asked(b"5"))) > MOST_BYTES


def test_an_index_of_a_view(answers: Answers) -> None:
    _prepared(answers, "SELECT n, g FROM v WHERE s = $1")
    for value in (b"x5", b"none"):
        said = answers.short(_asked(value))
        assert said is not None and said == answers.long(_asked(value))


def test_an_index_of_a_join(answers: Answers, client: Client) -> None:
    """The key of its rows begins with the indexed column, too, but does not tell where they are."""
    client.run("CREATE MATERIALIZED VIEW joined AS SELECT t.id, t.s, k.c2 FROM t JOIN kinds k ON t.g = k.id")
    client.run("CREATE INDEX joined_by_id ON joined (id)")
    client.run("FLUSH")
    _prepared(answers, "SELECT s, id FROM joined WHERE id = $1")
    for value in (b"5", b"-1"):
        said = answers.short(_asked(value))
        assert said is not None and said == answers.long(_asked(value))
    assert b"x5" in (answers.short(_asked(b"5")) or b"")
    client.run("DROP MATERIALIZED VIEW joined")


def test_texts_that_recur(answers: Answers) -> None:
    for value in (1, 3):
        answers.long(raw.query(b"SELECT id FROM t WHERE g = %d" % value))
    for value in (1, 3, 4):
        asked = raw.query(b"SELECT id FROM t WHERE g = %d" % value)
        said = answers.short(asked)
        assert said is not None and said == answers.long(asked)


def test_rows_that_no_epoch_has_take_the_long_way(answers: Answers, connect: Callable[[], Client]) -> None:
    _prepared(answers, "SELECT id FROM t WHERE g = $1")
    other = connect()
    for number in range(30):
        other.run(f"INSERT INTO t VALUES ({5000 + number}, 7, '')")
        said = answers.short(_asked(b"7")) or answers.long(_asked(b"7"))
        assert b"SELECT %d" % (number + 1) in said
    other.run("DELETE FROM t WHERE g = 7")
    assert b"SELECT 0" in (answers.short(_asked(b"7")) or answers.long(_asked(b"7")))


def test_a_transaction_sees_its_own_rows(answers: Answers) -> None:
    _prepared(answers, "SELECT id FROM t WHERE g = $1")
    before = answers.long(_asked(b"1"))
    for statement in (b"BEGIN", b"INSERT INTO t VALUES (7000, 8, '')", b"DELETE FROM t WHERE id = 1"):
        answers.long(raw.query(statement))
    for value, rows in ((b"8", 1), (b"1", MOST_ROWS - 1)):
        assert b"SELECT %d" % rows in (answers.short(_asked(value)) or answers.long(_asked(value)))
    answers.long(raw.query(b"ROLLBACK"))
    assert answers.short(_asked(b"1")) == before


def test_an_index_that_is_dropped(answers: Answers, connect: Callable[[], Client]) -> None:
    _prepared(answers, "SELECT id FROM t WHERE g = $1")
    before = answers.short(_asked(b"1"))
    assert before is not None
    other = connect()
    other.run("DROP INDEX by_g")
    assert answers.short(_asked(b"1")) is None
    assert b"SELECT %d" % MOST_ROWS in answers.long(_asked(b"1"))
    other.run("CREATE INDEX by_g ON t (g)")
    answers.long(_asked(b"1"))
    assert answers.short(_asked(b"1")) == before


def test_whatever_comes_has_one_answer(answers: Answers) -> None:
    _prepared(answers, "SELECT id, s FROM t WHERE g = $1")
    chosen, in_short = random.Random(5), 0
    for _ in range(1500):
        data = bytearray(_asked(chosen.choice([b"1", b"2", b"9", b" 1", b"-1", b"99999999999"])))
        for _ in range(chosen.randint(0, 2)):
            data[chosen.randrange(len(data))] = chosen.choice([0, 1, 2, 4, 49, 50, 255, chosen.getrandbits(8)])
        said = answers.short(bytes(data))
        if said is not None:
            in_short += 1
            assert said == answers.long(bytes(data)), bytes(data)
    assert in_short > 200
