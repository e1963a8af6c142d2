"""Sessions on a database whose epochs run in this process."""

from tests.frontend.session.conftest import client, connect, database

__all__ = ["client", "connect", "database"]
