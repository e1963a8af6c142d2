"""Sessions on a database whose epochs run in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client, client, connect, database

__all__ = ["client", "connect", "database", "opened"]


@contextmanager
def opened(path: Path, *, parallelism: int = 2) -> Iterator[tuple[Database, Client]]:
    """A database and a session, for the tests of a module."""
    made = Database(path, parallelism=parallelism)
    made.start(InProcessRunner(path))
    session = Client(open_session(made, StartupParameters("root", "dev", {}, process_id=1)))
    yield made, session
    session.session.close()
    made.close()
