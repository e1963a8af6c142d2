"""What tests of writes in groups share: which writes came to groups, connections, and what a table has."""

from __future__ import annotations

import psycopg
import pytest

from risingpy.frontend.wire import WireServer
from risingpy.meta.writing.coming_rows import TransactionRows
from risingpy.meta.writing.group_commit import GroupCommit, NewRows, RowChange, SmallWrite
from tests.frontend.session.conftest import Client

Connection = psycopg.Connection[tuple[object, ...]]


def noted(
    monkeypatch: pytest.MonkeyPatch, *kinds: type[NewRows] | type[RowChange] | type[TransactionRows]
) -> list[SmallWrite | TransactionRows]:
    """A list to which each write of these kinds is added that is given to a group from now on."""
    found: list[SmallWrite | TransactionRows] = []
    add = GroupCommit.add

    def noting(self: GroupCommit, write: SmallWrite | TransactionRows) -> None:
        if isinstance(write, kinds):
            found.append(write)
        add(self, write)

    monkeypatch.setattr(GroupCommit, "add", noting)
    return found


def connect(server: WireServer) -> Connection:
    """A connection without transactions, which `with` closes."""
    return psycopg.connect(host="127.0.0.1", port=server.port, user="root", dbname="dev", autocommit=True)


def rows_of(client: Client, text: str) -> list[tuple[object, ...]]:
    """A query's rows, with all that others have written."""
    client.run("FLUSH")
    return client.run(text)


def all_rows(client: Client, table: str) -> list[tuple[object, ...]]:
    """A table's rows, in some order that is always the same."""
    return sorted(rows_of(client, f"SELECT * FROM {table}"), key=repr)
