"""`risingpy tail`: a relation's rows and then its changes, a line each, as they come."""

from __future__ import annotations

from datetime import datetime
from typing import TextIO

import psycopg

from risingpy.executors.epoch.time import milliseconds

_SIGNS = {"Insert": "+", "Delete": "-", "UpdateDelete": "<", "UpdateInsert": ">"}


def run_tail(conninfo: str, name: str, output: TextIO, *, snapshot: bool = True) -> None:
    """Writes lines until the server ends it (psycopg.Error), or the user does (KeyboardInterrupt, which ends it there).

    A line has the time, a sign (+ new, - gone, < before, > after an update), and `column=value` pairs.
    """
    with psycopg.connect(conninfo, autocommit=True, connect_timeout=30) as connection, connection.cursor() as cursor:
        option = "" if snapshot else " WITH (snapshot = false)"
        for epoch, word, *values in cursor.stream(f"SUBSCRIBE TO {name}{option}".encode()):
            time = datetime.fromtimestamp(milliseconds(epoch) / 1000).astimezone()
            columns = [column.name for column in cursor.description or ()][2:]
            shown = (
                f"{column}={'NULL' if value is None else value}" for column, value in zip(columns, values, strict=True)
            )
            output.write(f"{time:%H:%M:%S.%f} {_SIGNS[word]} {' '.join(shown)}\n")
            output.flush()
