"""Indexes in the catalogs: rw_indexes, and by name where PostgreSQL accepts the name of an index."""

from __future__ import annotations

from typing import Any


def test_indexes_are_listed_and_found_by_name(client: Any) -> None:
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR, c INT)")
    client.run("CREATE INDEX by_ab ON t (a DESC, lower((b)::text)) INCLUDE (c)")
    client.run('CREATE INDEX "By C" ON t (c)')
    listed = client.run(
        "SELECT i.name, t.name, i.key_columns, i.include_columns FROM rw_catalog.rw_indexes i "
        "JOIN rw_catalog.rw_tables t ON i.primary_table_id = t.id ORDER BY i.id"
    )
    assert listed == [("by_ab", "t", [2, 0], [4]), ("By C", "t", [4], [1, 2, 3])]
    text = "CREATE INDEX by_ab ON public.t USING btree (a DESC, lower((b)::text)) INCLUDE (c)"
    assert client.run("SELECT definition FROM rw_indexes WHERE name = 'by_ab'") == [(text,)]
    for name in ("by_ab", "public.by_ab"):
        assert client.run(f"SELECT pg_get_indexdef('{name}'::regclass)") == [(text,)]
    named = client.run("""SELECT '"By C"'::regclass, 't_pkey'::regclass""")
    assert named == [('"By C"', "t_pkey")]
    client.run("DROP INDEX by_ab")
    assert client.run("SELECT name FROM rw_indexes") == [("By C",)]
