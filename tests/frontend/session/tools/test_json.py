"""The type json (OID 114), whose values are texts as they were written: in tables, views and parameters."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.types.json import Json

from risingpy.errors import SqlError
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.histories import differences
from tests.postgres_oracle import PostgresOracle

VIEW = "SELECT id, j, j ->> 'a' AS a, json_build_object('id', id) AS made FROM d"
ASKED = (
    "SELECT id, j::jsonb, a, made::jsonb FROM v ORDER BY id",
    "SELECT j -> 'a', j #>> '{b,0}', json_typeof(j), b FROM d ORDER BY id",
    "SELECT json_agg(id ORDER BY id)::jsonb, json_object_agg(id, id)::jsonb, to_json(max(id)) FROM d",
    "SELECT id, json_agg(id) OVER (ORDER BY id) FROM d ORDER BY id",
    'SELECT key, value::text FROM json_each(\'{"x": 1, "y": [2]}\')',
    "SELECT value FROM d, json_array_elements_text(j -> 'b') ORDER BY 1",
    'SELECT * FROM json_to_recordset(\'[{"a": 1}, {"a": 2}]\') AS r (a int)',
    "SELECT json_array_length('[1, 2]'), json_extract_path_text('{\"a\": 5}', 'a'), row_to_json(ROW(1, 'x'))::jsonb",
    "SELECT attname, atttypid, format_type(atttypid, atttypmod) FROM pg_attribute"
    " WHERE attrelid = 'd'::regclass AND attnum > 0 ORDER BY attnum",
    "SELECT oid, typname, typcategory, typarray, typinput, typreceive FROM pg_type WHERE oid IN (114, 199) ORDER BY 1",
)


def test_as_postgres(server: WireServer, postgres_oracle: PostgresOracle) -> None:
    answers = []
    ours = psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev", autocommit=True)
    with ours, postgres_oracle.connect() as theirs:
        for connection in (ours, theirs):
            with connection.transaction():
                connection.execute("SET search_path = pg_temp") if connection is theirs else None
            kind = "MATERIALIZED VIEW" if connection is ours else "TEMP VIEW"
            temporary = "" if connection is ours else "TEMP "
            connection.execute(f"CREATE {temporary}TABLE d (id int PRIMARY KEY, j json, b jsonb, list json[])".encode())
            connection.execute(f"CREATE {kind} v AS {VIEW}".encode())
            insert = "INSERT INTO d VALUES (%s, %s, %s, '{\"[1]\",null}')"
            for key, value in ((1, {"b": [1, 2], "a": "x"}), (2, None), (3, {"a": None})):
                connection.execute(insert, (key, None if value is None else Json(value), Json([value])))
            connection.execute("UPDATE d SET j = '{\"a\": 7}' WHERE id = 3")
            connection.execute("DELETE FROM d WHERE id = 2")
            answers.append([connection.execute(sql.encode()).fetchall() for sql in ASKED])
        assert answers[0] == answers[1]
        for binary in (False, True):
            cursor = ours.cursor(binary=binary)
            cursor.execute("SELECT j, json_build_object('x', id), b, list FROM d ORDER BY id")
            assert [column.type_code for column in cursor.description or ()] == [114, 114, 3802, 199]
            assert cursor.fetchall()[0][:2] == ({"a": "x", "b": [1, 2]}, {"x": 1})


WRITTEN = (Path(__file__).parent / "written_json.sql").read_text()


def test_texts_stay_as_they_were_written(client: Client, postgres_oracle: PostgresOracle) -> None:
    assert not differences(client, postgres_oracle, WRITTEN)


def test_a_view_made_before_and_one_made_after_agree(client: Client) -> None:
    client.run("CREATE TABLE d (id int PRIMARY KEY, j json)")
    client.run(f"CREATE MATERIALIZED VIEW before AS {VIEW}")
    client.run("INSERT INTO d VALUES (1, '{\"b\": 1, \"a\": 2}'), (2, '[]'), (3, NULL)")
    client.run("UPDATE d SET j = '\"t\"' WHERE id = 2")
    client.run("DELETE FROM d WHERE id = 3")
    client.run(f"CREATE MATERIALIZED VIEW after AS {VIEW}")
    expected = client.run(f"{VIEW} ORDER BY id")
    assert expected == [(1, '{"b": 1, "a": 2}', "2", '{"id" : 1}'), (2, '"t"', None, '{"id" : 2}')]
    for view in ("before", "after"):
        assert client.run(f"SELECT * FROM {view} ORDER BY id") == expected
    client.run("CREATE TABLE copied AS SELECT j FROM d")
    assert client.run("SELECT data_type FROM information_schema.columns WHERE table_name = 'copied'") == [("json",)]


NO_CLASS = 'data type json has no default operator class for access method "btree"'


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("SELECT '{\"a\":'::json", "22P02", "invalid input syntax for type json"),
        ("SELECT '{\"a\":NaN}'::json", "22P02", "invalid input syntax for type json"),
        ("SELECT ''::text::json", "22P02", "invalid input syntax for type json"),
        ("CREATE TABLE k (j json PRIMARY KEY)", "42704", NO_CLASS),
        ("SELECT json_typeof()", "42883", "function json_typeof() does not exist"),
    ],
)
def test_mistakes(client: Client, sql: str, sqlstate: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        client.run(sql)
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


def test_a_users_function_of_such_a_name_is_the_users(client: Client) -> None:
    client.run("CREATE FUNCTION json_typeof(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'")
    assert client.run("SELECT json_typeof(1)") == [(2,)]
