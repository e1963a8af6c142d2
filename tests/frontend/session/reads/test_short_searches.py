"""Searches that an index of vectors answers come in short, with the very bytes of the long way."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client
from tests.frontend.session.reads.short_answers import Answers, prepare, series
from tests.frontend.wire import raw_client as raw

DIMENSIONS, ROWS = 8, 300
_OPERATORS = {"<->": "vector_l2_ops", "<#>": "vector_ip_ops", "<=>": "vector_cosine_ops"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One for all tests: a table of vectors with an index for each distance, and a view."""
    opened = Database(tmp_path_factory.mktemp("searches") / "data", parallelism=2)
    opened.start(InProcessRunner(opened.data_dir))
    client = Client(open_session(opened, StartupParameters("root", "dev")))
    client.run(f"CREATE TABLE items (k varchar, n int, title varchar, v vector({DIMENSIONS}), PRIMARY KEY (n, k))")
    random = np.random.default_rng(3)
    values = ", ".join(f"('k{n % 7}', {n}, 't{n}', '{_text(random)}')" for n in range(ROWS))
    client.run(f"INSERT INTO items VALUES {values}, ('null', -1, NULL, NULL)")
    for operators in _OPERATORS.values():
        client.run(f"CREATE INDEX ON items USING hnsw (v {operators})")
    client.run("CREATE MATERIALIZED VIEW copied AS SELECT n, k, v FROM items WHERE n % 2 = 0")
    client.run("CREATE INDEX ON copied USING hnsw (v vector_l2_ops)")
    client.run("FLUSH")
    client.session.close()
    yield opened
    opened.close()


@pytest.fixture
def answers(client: Client) -> Answers:
    """Of a session that searches as well as it can: the graphs of 300 vectors miss none then."""
    client.run("SET hnsw.ef_search = 300")
    return Answers(client.session)


def _text(random: np.random.Generator) -> str:
    return f"[{','.join(map(str, random.standard_normal(DIMENSIONS).round(3).tolist()))}]"


def _vectors(count: int) -> list[bytes]:
    random = np.random.default_rng(11)
    return [_text(random).encode() for _ in range(count)]


def _prepare(answers: Answers, text: str) -> None:
    prepare(answers, b"s", text)


def _series(values: tuple[bytes | None, ...], formats: tuple[int, ...] = (), results: tuple[int, ...] = ()) -> bytes:
    return series(b"s", values, formats, results)


def _short(answers: Answers, asked: bytes) -> bytes:
    """The answer in short, which may have to wait for the thread that follows the graph's relation."""
    deadline = time.monotonic() + 30
    while (said := answers.awaited(asked)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return said


def _binary(text: bytes) -> bytes:
    reals = np.array(eval(text), ">f4")
    return struct.pack("!hh", len(reals), 0) + reals.tobytes()


@pytest.mark.parametrize("operator", _OPERATORS)
@pytest.mark.parametrize(
    "select",
    [
        "SELECT n, v {o} $1 FROM items ORDER BY v {o} $1 LIMIT 10",
        "SELECT title, v, k, n FROM items ORDER BY v {o} $1 LIMIT 7",
        "SELECT v <-> $1 AS far, n, v {o} $1 AS d FROM items ORDER BY d LIMIT 1",
        "SELECT n FROM (SELECT n, k, v FROM items) x ORDER BY $1 {o} v LIMIT 20",
    ],
)
def test_prepared_searches(answers: Answers, operator: str, select: str) -> None:
    _prepare(answers, select.format(o=operator))
    for vector in _vectors(4):
        for value, form in ((vector, 0), (_binary(vector), 1)):
            for results in ((), (1,)):
                asked = _series((value,), (form,), results)
                assert _short(answers, asked) == answers.long(asked)


def test_the_number_of_rows_as_a_parameter_and_a_view(answers: Answers) -> None:
    _prepare(answers, "SELECT n, k FROM copied ORDER BY v <-> $1 LIMIT $2")
    (vector,) = _vectors(1)
    for count in (b"1", b"5", b"128"):
        assert _short(answers, _series((vector, count))) == answers.long(_series((vector, count)))
    for other in (b"0", b"129", b"-1", None):
        assert answers.awaited(_series((vector, other))) is None


@pytest.mark.parametrize(
    "select",
    [
        "SELECT n, 1 - (v <=> $1) FROM items ORDER BY v <=> $1 LIMIT 5",
        "SELECT n FROM items WHERE n > 5 ORDER BY v <-> $1 LIMIT 5",
        "SELECT n FROM items ORDER BY v <-> $1, n LIMIT 5",
        "SELECT n FROM items ORDER BY v <-> $1 DESC LIMIT 5",
        "SELECT n FROM items ORDER BY v <-> $1 LIMIT 5 OFFSET 1",
        "SELECT n FROM items ORDER BY v <+> $1 LIMIT 5",
        "SELECT n FROM items ORDER BY v <-> $1",
    ],
)
def test_other_queries_take_the_long_way(answers: Answers, select: str) -> None:
    _prepare(answers, select)
    (vector,) = _vectors(1)
    assert answers.short(_series((vector,))) is None
    assert b"D\0" in answers.long(_series((vector,)))


def test_wrong_vectors_get_their_errors(answers: Answers) -> None:
    _prepare(answers, "SELECT n FROM items ORDER BY v <-> $1 LIMIT 5")
    for value, state in ((b"[1,2]", b"22000"), (b"[1,x]", b"22P02"), (b"[1e99" + b",0" * 7 + b"]", b"22003")):
        assert answers.awaited(_series((value,))) is None
        assert state in answers.long(_series((value,)))
    assert answers.short(_series((None,))) is None


def test_changes_are_seen_at_once(answers: Answers, client: Client) -> None:
    """The first search after an epoch may take the long way, which brings the graph up to date."""
    _prepare(answers, "SELECT n, v <-> $1 FROM items ORDER BY v <-> $1 LIMIT 3")
    (vector,) = _vectors(1)
    asked = _series((vector,))
    for change in (
        f"INSERT INTO items VALUES ('new', 5000, 'x', '{vector.decode()}')",
        f"UPDATE items SET v = '{vector.decode()}' WHERE n = 7",
        "DELETE FROM items WHERE n IN (5000, 8)",
        "UPDATE items SET v = NULL WHERE n = 7",
    ):
        client.run(change)
        expected = answers.long(asked)
        client.run("FLUSH")
        deadline = time.monotonic() + 30
        while (said := answers.awaited(asked)) is None:  # its thread follows, if nobody asks
            assert time.monotonic() < deadline
            answers.long(asked)
        assert said == expected == answers.long(asked)


@pytest.fixture
def handed_on(monkeypatch: pytest.MonkeyPatch, database: Database) -> None:
    """All searches take so long that another thread makes them."""
    monkeypatch.setattr(database.vector_indexes, "takes_long", lambda *asked: True)


@pytest.mark.usefixtures("handed_on")
def test_searches_that_another_thread_makes(answers: Answers, client: Client) -> None:
    """They need not wait for the thread that follows the relation: the searching thread does that itself."""
    _prepare(answers, "SELECT n, v <-> $1 FROM items ORDER BY v <-> $1 LIMIT 10")
    for number, vector in enumerate(_vectors(20)):
        asked = _series((vector,))
        assert answers.short(asked) is None
        assert answers.awaited(asked) == answers.long(asked)
        client.run(f"UPDATE items SET v = '{vector.decode()}' WHERE n = {50 + number}")
        client.run("FLUSH")
        assert answers.awaited(asked) == answers.long(asked)
        client.run(f"UPDATE items SET v = NULL WHERE n = {50 + number}")  # others ask for the same vector
        client.run("FLUSH")


@pytest.mark.usefixtures("handed_on")
def test_changes_while_another_thread_searches(answers: Answers, client: Client, database: Database) -> None:
    """What it has found is the answer only if the relation is still the same; else it searches three times."""
    _prepare(answers, "SELECT n FROM items ORDER BY v <-> $1 LIMIT 1")
    (vector,) = _vectors(1)
    asked = _series((vector,))
    real, searched = database.vector_indexes._nearest_to_each, []
    changes = iter((1, 1, 0))

    def changed_afterwards(*given: Any) -> Any:
        found = real(*given)
        searched.append(found)
        for _ in range(next(changes, 1)):
            client.run(f"UPDATE items SET v = '{vector.decode()}' WHERE n = {100 + len(searched)}")
            client.run(f"UPDATE items SET v = NULL WHERE n = {99 + len(searched)}")
            client.run("FLUSH")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database.vector_indexes._searches, "_find", changed_afterwards)
        said = answers.awaited(asked)
        assert len(searched) == 3
        assert said is not None and b"102" in said
        searched.clear()
        assert answers.awaited(asked) is None
        assert len(searched) == 3
    while (said := answers.awaited(asked)) is None:  # the thread that follows the relation has the graph just now
        time.sleep(0.01)
    assert said == answers.long(asked)
    client.run("UPDATE items SET v = NULL WHERE n BETWEEN 100 AND 110")  # others ask for the same vector
    client.run("FLUSH")


def test_a_transaction_sees_its_own_rows(answers: Answers, client: Client) -> None:
    _prepare(answers, "SELECT n FROM items ORDER BY v <-> $1 LIMIT 1")
    (vector,) = _vectors(1)
    asked = _series((vector,))
    client.run("BEGIN")
    before = answers.awaited(asked)
    assert before is not None
    client.run(f"INSERT INTO items VALUES ('own', 9000, 'x', '{vector.decode()}')")
    assert answers.awaited(asked) is None
    assert b"9000" in answers.long(asked)
    client.run("ROLLBACK")
    assert answers.awaited(asked) == answers.long(asked)


def test_limits_of_the_portal_take_the_long_way(answers: Answers) -> None:
    _prepare(answers, "SELECT n FROM items ORDER BY v <-> $1 LIMIT 5")
    (vector,) = _vectors(1)
    assert answers.short(raw.bind(b"", b"s", (vector,)) + raw.execute(limit=2) + raw.SYNC) is None


def test_changes_of_other_relations_are_none_of_the_graph(answers: Answers, client: Client) -> None:
    _prepare(answers, "SELECT n FROM items ORDER BY v <-> $1 LIMIT 5")
    (vector,) = _vectors(1)
    answers.long(_series((vector,)))
    client.run("CREATE TABLE other (n int)")
    answers.long(_series((vector,)))  # binds the statement again, for the catalog
    for n in range(3):
        client.run(f"INSERT INTO other VALUES ({n})")
        client.run("FLUSH")
        answers.session.sync()
        assert answers.awaited(_series((vector,))) is not None
