"""`watch`: a relation's rows, shown anew in a notebook as they change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import risingpy
from risingpy.client.interface import OpenDatabase
from risingpy.errors import SqlError

SECONDS = 30  # until a change must have come; it comes in milliseconds


@pytest.fixture(scope="module")
def db() -> Iterator[OpenDatabase]:
    with risingpy.connect(parallelism=1) as database:
        database.sql("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
        database.sql("CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS v FROM t")
        yield database


def test_each_change_gives_an_answer(db: OpenDatabase) -> None:
    db.sql("DELETE FROM t")
    with db.watch("m", seconds=0) as live:
        assert live.result.fetchone() == (None,)
        for total in (1, 3, 6):
            db.sql("INSERT INTO t VALUES ($1, $1)", [total])
            expected = db.sql("SELECT v FROM m").fetchone()
            while (answer := live.wait(SECONDS)) is not None and answer.fetchone() != expected:
                pass
            assert answer is not None
        assert live.wait(0.01) is None, "nothing changed since"
    assert live.wait() is None, "it is closed"


def test_the_last_of_many_changes_is_shown(db: OpenDatabase) -> None:
    db.sql("DELETE FROM t")
    with db.watch("m", "SELECT v FROM m", seconds=0.05) as live:
        for k in range(200):
            db.sql("INSERT INTO t VALUES ($1, 1)", [k])
        while (answer := live.wait(SECONDS)) is not None and answer.fetchone() != (200,):
            pass
        assert live.result.fetchone() == (200,)


def test_what_is_wrong_is_said(db: OpenDatabase) -> None:
    before = _sessions(db)
    for name, query in (("nope", None), ("m", "SELECT nope FROM m")):
        with pytest.raises(SqlError):
            db.watch(name, query)
    assert _sessions(db) == before, "nothing is left open"
    db.sql("CREATE MATERIALIZED VIEW gone AS SELECT v FROM t")
    with db.watch("gone") as live:
        db.sql("DROP MATERIALIZED VIEW gone CASCADE")
        assert live.wait(SECONDS) is None
        assert live.error is not None and live.error.sqlstate != "57014"
        assert "<pre>" in live._repr_html_()


def _sessions(db: OpenDatabase) -> int:
    found = db.sql("SELECT count(*) FROM pg_stat_activity").fetchone()
    assert found is not None
    return int(found[0])


def test_a_notebook_shows_it_in_one_place(db: OpenDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """With IPython's own display: one picture that is made, and updates of that one."""
    display = pytest.importorskip("IPython.display")
    published: list[dict[str, Any]] = []
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    monkeypatch.setattr(shell.display_pub, "publish", lambda **what: published.append(what))
    db.sql("DELETE FROM t")
    with db.watch("m", seconds=0) as live:
        display.display(live)
        db.sql("INSERT INTO t VALUES (1, 77)")
        assert live.wait(SECONDS) is not None
        deadline = time.monotonic() + SECONDS
        while "77" not in published[-1]["data"]["text/html"]:  # an answer is given to `wait` before it is drawn
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert [bool(each.get("update")) for each in published] == [False] + [True] * (len(published) - 1)
    assert len({each["transient"]["display_id"] for each in published}) == 1
