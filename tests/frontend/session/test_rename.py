"""After a rename, what SHOW CREATE says of a view makes that view."""

from __future__ import annotations

from typing import Any

import pytest

VIEWS = {
    "v": ("VIEW", "SELECT t.id, x.a FROM t JOIN public.t x ON t.id = x.id"),
    "m": ("MATERIALIZED VIEW", "WITH c AS (SELECT a FROM v) SELECT count(*) AS n, sum(a) AS s FROM c"),
    "shadow": ("MATERIALIZED VIEW", "WITH t AS (SELECT 1 AS one) SELECT one FROM t"),
    "quoted": ("VIEW", 'SELECT "t"."id" FROM "t" WHERE \'t\' <> \'\''),
}


@pytest.mark.parametrize(("new", "schema"), [("u", None), ("Odd name", None), ("select", "s"), ("t", "s")])
def test_texts_follow_a_rename(client: Any, new: str, schema: str | None) -> None:
    client.run("CREATE SCHEMA s; CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 2), (2, 3)")
    for name, (kind, query) in VIEWS.items():
        client.run(f"CREATE {kind} {name} AS {query}")
    before = {name: sorted(client.run(f"SELECT * FROM {name}")) for name in VIEWS}
    if new != "t":
        client.run(f'ALTER TABLE t RENAME TO "{new}"')
    if schema is not None:
        client.run(f'ALTER TABLE "{new}" SET SCHEMA {schema}')
    assert {name: sorted(client.run(f"SELECT * FROM {name}")) for name in VIEWS} == before
    texts = {name: client.run(f"SHOW CREATE {kind} {name}")[0][1] for name, (kind, _) in VIEWS.items()}
    for name in reversed(VIEWS):
        client.run(f"DROP {VIEWS[name][0]} {name}")
    for text in texts.values():
        client.run(text)
    assert {name: sorted(client.run(f"SELECT * FROM {name}")) for name in VIEWS} == before


COLUMN_VIEWS = {
    "star": ("VIEW", "SELECT * FROM t"),
    "plain": ("VIEW", "SELECT a, t.b AS x FROM t WHERE b > 1"),
    "joined": ("MATERIALIZED VIEW", "SELECT id, t.a, u.a AS ua FROM t JOIN u USING (id)"),
    "naturally": ("VIEW", "SELECT * FROM t NATURAL JOIN u"),
    "grouped": ("MATERIALIZED VIEW", "SELECT b, count(*) AS n FROM (SELECT * FROM t) x GROUP BY b"),
    "inner_one": ("VIEW", "SELECT u.a FROM u WHERE u.a IN (SELECT b FROM t WHERE t.a = u.a)"),
    "listed": ("VIEW", "SELECT p + q AS s FROM t AS k(p, q, r)"),
    "window_of": ("MATERIALIZED VIEW", "SELECT window_start, a FROM tumble(t, at, INTERVAL '1 hour')"),
    "changes": ("MATERIALIZED VIEW", "WITH c AS changelog FROM t SELECT c.a, c.changelog_op FROM c"),
}


def test_texts_follow_renamed_and_added_columns(client: Any) -> None:
    """As PostgreSQL's do: a view keeps its columns, under the names that it has for them."""
    client.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int, at timestamp); CREATE TABLE u (id int, a int)")
    client.run("INSERT INTO t VALUES (1, 2, 3, '2024-01-01 10:00'), (2, 3, 1, '2024-01-01 11:30'); FLUSH")
    client.run("INSERT INTO u VALUES (1, 3), (2, 9); FLUSH")
    for name, (kind, query) in COLUMN_VIEWS.items():
        client.run(f"CREATE {kind} {name} AS {query}")
    client.run("CREATE SINK out AS SELECT a FROM t WITH (connector = 'blackhole')")
    names = [*COLUMN_VIEWS]
    rows = {name: sorted(client.run(f"SELECT * FROM {name}")) for name in names}
    columns = {name: [row[0] for row in client.run(f"SHOW COLUMNS FROM {name}")] for name in names}
    client.run("ALTER TABLE t RENAME COLUMN a TO c")
    client.run("ALTER TABLE t RENAME b TO a")
    client.run("ALTER TABLE t ADD COLUMN more int DEFAULT 7")
    client.run('ALTER TABLE u RENAME COLUMN id TO "Id"')
    client.run("ALTER TABLE t RENAME TO renamed")
    texts = {name: client.run(f"SHOW CREATE {kind} {name}")[0][1] for name, (kind, _) in COLUMN_VIEWS.items()}
    texts["out"] = client.run("SHOW CREATE SINK out")[0][1]
    assert "renamed t" in texts["out"] and "t.c AS a" in texts["out"]
    assert "t.c AS a" in client.run("SELECT pg_get_viewdef('star'::regclass, true)")[0][0]
    client.run("DROP SINK out")
    for name in reversed(names):
        client.run(f"DROP {COLUMN_VIEWS[name][0]} {name}")
    for text in texts.values():
        client.run(text)
    assert columns == {name: [row[0] for row in client.run(f"SHOW COLUMNS FROM {name}")] for name in names}
    again = {name: sorted(client.run(f"SELECT * FROM {name}")) for name in names}
    del rows["changes"], again["changes"]  # which says what has happened since it was made
    assert again == rows


def test_a_primary_keys_name_stays(client: Any) -> None:
    """As in PostgreSQL: the key of a table that was renamed has its name, and that of another table another one."""
    keys = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'p' ORDER BY 1"
    client.run("CREATE TABLE one (id INT PRIMARY KEY)")
    client.run("ALTER TABLE one RENAME TO two")
    assert client.run(keys) == [("two", "one_pkey")]
    assert client.run("SELECT indexname FROM pg_indexes WHERE tablename = 'two'") == [("one_pkey",)]
    client.run("CREATE TABLE one (id INT PRIMARY KEY)")
    assert client.run(keys) == [("one", "one_pkey1"), ("two", "one_pkey")]
    client.run("INSERT INTO two VALUES (1) ON CONFLICT ON CONSTRAINT one_pkey DO NOTHING")
    client.run("DROP TABLE one")
    client.run("ALTER TABLE two RENAME TO one")
    assert client.run(keys) == [("one", "one_pkey")]
    assert "CONSTRAINT" not in client.run("SHOW CREATE TABLE one")[0][1]
