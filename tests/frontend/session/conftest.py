"""A database in a temporary directory whose epochs run in this process, and sessions on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest

from risingpy.frontend.results import CopyIn, StartupParameters
from risingpy.frontend.session import ClientSession, open_session
from risingpy.frontend.wire import WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.result_rows import result_rows


class Client:
    """Drives a session as the wire layer does, and gives rows as tuples."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self.tags: list[str] = []
        self.notices: list[str] = []
        self.notice_states: list[str] = []

    def run(self, sql: str, *parameters: object, oids: tuple[int, ...] = ()) -> list[tuple[object, ...]]:
        """The rows of the last statement of a text; raises its error after telling the session."""
        rows: list[tuple[object, ...]] = []
        try:
            statements = self.session.split(sql)
            if len(statements) > 1:
                self.session.begin_implicit()
            for statement in statements:
                result = self.session.execute(self.session.prepare(statement, oids), parameters)
                rows = result_rows(result)
                self.tags.append(result.tag.text(len(rows)))
            self.session.sync()
        except BaseException:
            self.session.fail()
            raise
        finally:
            told = self.session.drain_notices()
            self.notices += [notice.message for notice in told]
            self.notice_states += [notice.sqlstate for notice in told]
        return rows

    @property
    def tag(self) -> str:
        return self.tags[-1]

    @property
    def status(self) -> bytes:
        return self.session.transaction_status()

    def copy_in(self, sql: str, *columns: list[object]) -> CopyIn:
        """Starts a COPY FROM and writes one batch."""
        [statement] = self.session.split(sql)
        result = self.session.execute(self.session.prepare(statement, ()), ())
        assert isinstance(result.copy, CopyIn)
        arrays = [pa.array(c, f.type.arrow) for c, f in zip(columns, result.copy.fields, strict=True)]
        result.copy.sink.write(pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))]))
        return result.copy


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "data", parallelism=2)
    opened.start(InProcessRunner(opened.data_dir))
    yield opened
    opened.close()


@pytest.fixture
def connect(database: Database) -> Iterator[Callable[[], Client]]:
    """Opens sessions; closes them in the end."""
    clients: list[Client] = []
    process_ids = count(7)  # threads connect at once, and locks are owned by process id

    def connect(**settings: str) -> Client:
        client = Client(
            open_session(database, StartupParameters("root", "dev", settings, process_id=next(process_ids)))
        )
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.session.close()


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    return connect()


@pytest.fixture
def table(client: Client) -> Client:
    """A session on a database with the table t, of two rows."""
    client.run("CREATE TABLE t (id int PRIMARY KEY, n int)")
    client.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    return client


@pytest.fixture
def server(database: Database) -> Iterator[WireServer]:
    """The database behind the wire protocol."""
    made = WireServer("127.0.0.1", 0, lambda startup: open_session(database, startup))
    made.start()
    yield made
    made.stop()
