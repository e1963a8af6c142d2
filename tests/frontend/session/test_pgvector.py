"""pgvector's adapter of psycopg, over a server that runs epochs on Spark: parameters, results, COPY, and views."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from pgvector.psycopg import register_vector

from risingpy.server_process import HOST, ServerProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("pgvector") / "data", engine="spark", parallelism=2)
    yield process
    process.stop()


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_vectors_of_a_program(server: ServerProcess, binary: bool) -> None:
    with psycopg.connect(host=HOST, port=server.port, user="root", dbname="dev", autocommit=True) as client:
        client.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(client)
        client.execute("DROP TABLE IF EXISTS items CASCADE")
        client.execute("CREATE TABLE items (id int PRIMARY KEY, place vector(3), host inet, flags bit(4))")
        client.execute(
            "CREATE MATERIALIZED VIEW sums AS"
            " SELECT flags, sum(place) AS total, avg(place) AS middle, max(host) AS host"
            " FROM items GROUP BY flags"
        )
        cursor = client.cursor(binary=binary)
        for key, place in ((1, [1, 2, 3.5]), (2, [3, 1, 2])):
            cursor.execute("INSERT INTO items VALUES (%s, %s, '10.0.0.1', B'1010')", (key, np.array(place)))
        with cursor.copy("COPY items (id, place) FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", "vector"])
            copy.write_row([3, np.array([7, 8, 9])])
        asked = np.array([1, 1, 1])
        query = "SELECT id, place <-> %s FROM items ORDER BY place <-> %s LIMIT 2"
        assert cursor.execute(query, (asked, asked)).fetchall() == [(2, 2.23606797749979), (1, 2.692582403567252)]
        cursor.execute("SELECT place FROM items ORDER BY id")
        assert [row[0].to_list() for row in cursor.fetchall()] == [[1, 2, 3.5], [3, 1, 2], [7, 8, 9]]
        client.execute("UPDATE items SET flags = '0001', host = '::1' WHERE id = 3")
        client.execute("DELETE FROM items WHERE id = 1")
        client.execute("FLUSH")
        cursor = client.cursor()
        cursor.execute("SELECT flags::text, total::text, middle::text, host::text FROM sums ORDER BY flags")
        assert cursor.fetchall() == [
            ("0001", "[7,8,9]", "[7,8,9]", "::1/128"),
            ("1010", "[3,1,2]", "[3,1,2]", "10.0.0.1/32"),
        ]
