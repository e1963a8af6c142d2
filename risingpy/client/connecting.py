"""`risingpy.connect`: a directory of this process, or a server."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from risingpy.arrow_without_pandas import begin_without_pandas
from risingpy.errors import InvalidParameterValue
from risingpy.garbage import no_collections

if TYPE_CHECKING:
    from risingpy.client.interface import OpenDatabase

_SCHEMES = ("postgresql://", "postgres://")


def connect(
    target: str | Path | None = None,
    *,
    parallelism: int | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
) -> OpenDatabase:
    """Opens the database in a directory, which is made if it is not there, in this process, or reaches a server.

    A `target` that begins with postgresql:// is a server's (libpq's URL, with user, password, sslmode and more).
    Without a target, the database lasts until it is closed. Raises SqlError.

    The other arguments are for a directory. `parallelism` is the number of shards of a new one (one per core). With
    `engine="spark"`, large epochs run on Spark, as in `risingpy serve`; it starts meanwhile. `memory` ("4GB", or bytes)
    is what its statements and views share; by default the half of the machine's. A directory that another process has
    open is refused. Python's recursion limit is raised for the whole process: expressions may nest as deeply as in a
    server.
    """
    # Each is imported when it is asked for: a server's client need not wait for DuckDB, nor a directory for libpq.
    if isinstance(target, str) and target.startswith(_SCHEMES):
        given = {"parallelism": parallelism, "engine": engine, "memory": memory}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise InvalidParameterValue(f"{wrong[0]} is for a database in a directory, and the server has its own")
        opened = import_module("risingpy.client.server_database").ServerDatabase(target)
    else:
        with no_collections():
            begin_without_pandas()
            embedded = import_module("risingpy.embedded")
        opened = embedded.open_directory(target, parallelism=parallelism, engine=engine or "inprocess", memory=memory)
    return cast("OpenDatabase", opened)
