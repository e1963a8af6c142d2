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
