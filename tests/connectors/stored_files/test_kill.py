"""kill -9 of the server in the middle of files: each line counts once."""

from __future__ import annotations

import gzip
import os
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from psycopg import Connection

from risingpy.server_process import ServerProcess
from tests.connectors.stored_files.files import put, put_parquet

ROUNDS = int(os.environ.get("RISINGPY_CRASH_ROUNDS", "2"))
SEED = int(os.environ.get("RISINGPY_CRASH_SEED", "1"))
ROWS = 300_000
RATE = 10_000  # lines of 64 bytes, as the connector counts them ahead: about 90,000 of these short lines
IN_THE_MIDDLE_SECONDS = 60
ENCODINGS = {"csv": "CSV", "json": "JSON", "parquet": "PARQUET", "gz": "CSV"}


def write(root: Path, name: str, first: int) -> None:
    """A file of each kind, with the numbers from `first` on."""
    numbers = range(first, first + ROWS)
    lines = b"id\n" + b"".join(b"%d\n" % k for k in numbers)
    put(root / f"{name}.csv", lines)
    put(root / f"{name}.gz", gzip.compress(lines, 1))
    put(root / f"{name}.json", b"".join(b'{"id": %d}\n' % k for k in numbers))
    put_parquet(root / f"{name}.parquet", pa.table({"id": numbers}), rows_of_group=50_000)


def rows_when_in_the_middle(connection: Connection[Any], first: int, chance: random.Random) -> int:
    """The number of rows read, as soon as a random part of the first half of the file that begins at `first` is.

    The limit on the rate leaves one to three seconds of reading after it, so a kill that follows comes before the end.
    """
    wanted = first + chance.randrange(1, ROWS // 2)
    deadline = time.monotonic() + IN_THE_MIDDLE_SECONDS
    while (rows := connection.execute("SELECT count(*) FROM csv").fetchall()[0][0]) < wanted:
        assert time.monotonic() < deadline, "the file is not read"
        time.sleep(0.02)
    return int(rows)


def test_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    chance, data_dir, root = random.Random(SEED), tmp_path / "data", tmp_path / "files"
    root.mkdir()
    query = "SELECT count(*), count(DISTINCT id), sum(id) FROM {}"
    between = 0
    for number in range(ROUNDS):
        server = ServerProcess(data_dir)
        if number % 2:  # in the other rounds the server runs epochs itself
            server.wait_for_spark()
        with server.connect() as connection:
            for name, encoding in ENCODINGS.items() if number == 0 else ():
                options = f"connector = 'posix_fs', posix_fs.root = '{root}', match_pattern = '*.{name}'"
                made = f"(id BIGINT) WITH ({options}, source_rate_limit = {RATE}) FORMAT PLAIN ENCODE {encoding}"
                connection.execute(f"CREATE TABLE {name} {made}")
            write(root, str(number), number * ROWS)
            between += rows_when_in_the_middle(connection, number * ROWS, chance) % ROWS > 0
        server.kill()
    assert between, "no kill was in the middle of a file"
    server = ServerProcess(data_dir)
    total = ROUNDS * ROWS
    with server.connect() as connection:
        for name in ENCODINGS:
            connection.execute(f"ALTER SOURCE {name} SET source_rate_limit = DEFAULT")
        deadline = time.monotonic() + 180
        for name in ENCODINGS:
            while connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0] < total:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            connection.execute("FLUSH")
            assert connection.execute(query.format(name)).fetchall() == [(total, total, total * (total - 1) // 2)]
    assert server.stop() == 0
