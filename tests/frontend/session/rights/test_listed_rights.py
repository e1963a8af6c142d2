"""rw_catalog lists what is granted on each kind of object."""

from __future__ import annotations

from typing import Any


def test_each_list_has_what_was_granted(client: Any) -> None:
    client.run(
        "CREATE USER reader; CREATE SCHEMA s; CREATE TABLE t (a int PRIMARY KEY, b int); CREATE INDEX i ON t (b)"
    )
    client.run("CREATE MATERIALIZED VIEW m AS SELECT b, count(*) AS n FROM t GROUP BY b")
    client.run("CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT $1'")
    lists = {
        "SELECT acl FROM rw_indexes WHERE name = 'i'": ["root=arwdDxt/root", "reader=r/root"],
        "SELECT acl FROM rw_relations WHERE name = 'i'": ["root=arwdDxt/root", "reader=r/root"],
        "SELECT acl FROM rw_relations WHERE name = 't'": ["root=arwdDxt/root", "reader=r/root"],
        "SELECT acl FROM rw_databases WHERE name = 'dev'": ["=Tc/root", "root=CTc/root", "reader=C/root"],
        "SELECT acl FROM rw_schemas WHERE name = 's'": ["root=UC/root", "reader=U/root"],
        "SELECT acl FROM rw_functions WHERE name = 'f'": ["=X/root", "root=X/root", "reader=X/root"],
    }
    for question in lists:
        assert client.run(question) == [(None,)]
    client.run("GRANT SELECT ON t TO reader; GRANT CREATE ON DATABASE dev TO reader; GRANT USAGE ON SCHEMA s TO reader")
    client.run("GRANT EXECUTE ON FUNCTION f TO reader")
    for question, items in lists.items():
        assert client.run(question) == [(items,)]
    assert client.run("SELECT acl FROM rw_schemas WHERE name = 'public'") == [(["root=UC/root", "=U/root"],)]
    # Nobody can be granted anything on a state table.
    client.run("GRANT SELECT ON m TO reader")
    assert set(client.run("SELECT acl FROM rw_internal_tables")) == {(None,)}


def test_functions_and_the_columns_of_their_rows(client: Any) -> None:
    client.run("CREATE FUNCTION f(x int, varchar) RETURNS bigint LANGUAGE sql AS 'SELECT $1::bigint'")
    body = "$$\ndef g(n):\n    yield n, 'x'\n$$"
    client.run(f"CREATE FUNCTION g(n int) RETURNS TABLE(a int, b varchar) LANGUAGE python IMMUTABLE AS {body}")
    found = client.run("SELECT name, type, arg_type_ids, return_type_id, language FROM rw_functions ORDER BY name")
    assert found == [("f", "scalar", ["23", "1043"], 20, "sql"), ("g", "table", ["23"], 2249, "python")]
    modes = "SELECT proallargtypes, proargmodes, proargnames FROM pg_proc WHERE proname = $1"
    assert client.run(modes, "f") == [(None, None, ["x", ""])]
    assert client.run(modes, "g") == [([23, 23, 1043], ["i", "t", "t"], ["n", "a", "b"])]
    parameters = (
        "SELECT parameter_name, parameter_mode FROM information_schema.parameters WHERE specific_schema = 'public'"
    )
    assert client.run(parameters + " ORDER BY specific_name, ordinal_position") == [
        *(("x", "IN"), (None, "IN")),
        *(("n", "IN"), ("a", "OUT"), ("b", "OUT")),
    ]
