"""Every statement that clients were seen to send is answered, and as PostgreSQL 15 answers it over the same schema.

`differences.txt` has what differs all the same, with a reason for each. `pytest --update` writes it anew: what is new
comes first there, under no reason, which the test does not take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from risingpy.frontend.session import open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.system_catalog.captured.captured import SCHEMA, Answer, Message, Rows, Server, messages
from tests.postgres_oracle import missing_reason, postgres_server

DIFFERENCES = Path(__file__).with_name("differences.txt")
NO_REASON = "# No reason"
DATABASE = "memory"  # as the tools had it: their statements name it


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[str]:
    """Where our server listens, whose database has the schema."""
    database = Database(tmp_path / "data", parallelism=2)
    database.start(InProcessRunner(database.data_dir))
    server = WireServer("127.0.0.1", 0, lambda startup: open_session(database, startup))
    server.start()
    where = f"host=127.0.0.1 port={server.port} user=root"
    try:
        with psycopg.connect(f"{where} dbname=dev", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        yield _with_schema(f"{where} dbname={DATABASE}")
    finally:
        server.stop()
        database.close()


@pytest.fixture
def theirs() -> Iterator[str]:
    """Where a PostgreSQL listens, whose database has the schema: of the same first user and locale as ours."""
    reason = missing_reason()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server(superuser="root", locale="C.UTF-8") as server:
        with server.connect() as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        yield _with_schema(f"host={server.directory} port={server.port} user=root dbname={DATABASE}")


def _with_schema(where: str) -> str:
    with psycopg.connect(where, autocommit=True) as connection:
        for statement in SCHEMA:
            connection.execute(statement.encode())
    return where


def test_answers_are_postgresqls(ours: str, theirs: str, update_goldens: bool) -> None:
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for message, our_answer, their_answer in _answers(ours, theirs):
        counts["all"] += 1
        different = _differences(message, our_answer, their_answer)
        counts["equal"] += not different
        if different:
            found[message.key] = " ".join(different)
    print(f"{counts['equal']} of {counts['all']} captured messages are answered as by PostgreSQL")
    if update_goldens:
        DIFFERENCES.write_text(_written(found))
    reasons = _reasons()
    assert NO_REASON not in reasons
    assert found == {key: what for keys in reasons.values() for key, what in keys.items()}


def _answers(ours: str, theirs: str) -> Iterator[tuple[Message, Answer, Answer]]:
    """Each client has a connection of its own to both."""
    client, servers = "", list[Server]()
    for message in messages():
        if message.key.partition("/")[0] != client:
            for server in servers:
                server.close()
            client = message.key.partition("/")[0]
            servers = [Server(psycopg.connect(where, autocommit=True)) for where in (ours, theirs)]
        yield message, servers[0].answer(message), servers[1].answer(message)
    for server in servers:
        server.close()


def _differences(message: Message, mine: Answer, its: Answer) -> list[str]:
    """In what two answers differ: `error`, `names`, `types`, `rows`, `order`, `tag`."""
    if mine.sqlstate != its.sqlstate:
        return [f"error({mine.sqlstate or 'none'},{its.sqlstate or 'none'})"]
    if len(mine.results) != len(its.results):
        return ["results"]
    different: dict[str, None] = {}
    for one, other in zip(mine.results, its.results, strict=True):
        different |= dict.fromkeys(_of_rows(message, one, other))
    return list(different)


def _of_rows(message: Message, one: Rows, other: Rows) -> Iterator[str]:
    if one.names != other.names:
        yield "names"
    if one.types != other.types:
        yield "types"
    if sorted(one.rows, key=str) != sorted(other.rows, key=str):
        yield "rows"
    elif one.rows != other.rows and "order by" in message.text.lower():
        yield "order"
    if one.tag.rstrip("0123456789") != other.tag.rstrip("0123456789"):
        yield "tag"


def _reasons() -> dict[str, dict[str, str]]:
    """The listed differences by reason: what differs, by the message's key."""
    reasons: dict[str, dict[str, str]] = {}
    reason = ""
    for line in DIFFERENCES.read_text().splitlines() if DIFFERENCES.exists() else ():
        if line.startswith("# "):
            reason = line
            reasons.setdefault(reason, {})
        elif line.strip():
            key, _, what = line.partition(" ")
            reasons[reason][key] = what
    return reasons


def _written(found: dict[str, str]) -> str:
    """The list with what was found: known differences stay under their reasons."""
    reasons = _reasons()
    reason_of = {key: reason for reason, keys in reasons.items() for key in keys if reason != NO_REASON}
    by_reason: dict[str, list[str]] = {NO_REASON: [], **{reason: [] for reason in reasons if reason != NO_REASON}}
    for key, what in found.items():
        by_reason[reason_of.get(key, NO_REASON)].append(f"{key} {what}")
    parts = ("\n".join([reason, *lines]) for reason, lines in by_reason.items() if lines)
    return "\n\n".join(parts) + "\n"
