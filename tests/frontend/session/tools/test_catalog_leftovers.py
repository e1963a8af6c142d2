"""What clients ask of the catalog besides relations: settings of computed names, operator classes, parts of names."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError, UndefinedObject
from tests.frontend.session.conftest import Client


def test_a_type_with_a_schema_may_be_an_array(client: Client) -> None:
    assert client.run("SELECT '{1,2}'::pg_catalog.oid[], 1.0, 2.0")[0][0] in ((1, 2), [1, 2])
    with pytest.raises(SqlError) as raised:
        client.run("SELECT '{1}'::other.pg_catalog.oid[]")
    message = "cross-database references are not implemented: other.pg_catalog.oid"
    assert (raised.value.sqlstate, raised.value.message) == ("0A000", message)


def test_set_config_of_computed_arguments(client: Client) -> None:
    assert client.run("SELECT set_config('search_path', 'pu' || 'blic', false)") == [("public",)]
    assert client.run("SHOW search_path") == [("public",)]
    rows = client.run("SELECT set_config(name, 'x' || setting, false) FROM pg_settings WHERE name = 'application_name'")
    assert rows == [("x",)]
    assert client.run("SHOW application_name") == [("x",)]
    assert client.run("SELECT set_config(n, v, false) FROM (VALUES ('a.b', 'c'), (NULL, 'd')) AS t (n, v)") == [
        ("c",),
        (None,),
    ]
    assert client.run("SHOW a.b") == [("c",)]
    with pytest.raises(SqlError) as raised:
        client.run("SELECT set_config('no' || 'such', 'x', false)")
    assert (raised.value.sqlstate, raised.value.message) == (
        "42704",
        'unrecognized configuration parameter "nosuch"',
    )


@pytest.mark.parametrize("value", ["'other'", "'oth' || 'er'"])
def test_set_config_for_the_transaction_ends_with_it(client: Client, value: str) -> None:
    client.run("BEGIN")
    assert client.run(f"SELECT set_config('application_name', {value}, true)") == [("other",)]
    assert client.run("SHOW application_name") == [("other",)]
    client.run("COMMIT")
    assert client.run("SHOW application_name") == [("",)]


def test_what_dumps_and_odbc_ask(client: Client) -> None:
    assert client.run("SELECT getdatabaseencoding(), current_setting('max_index_keys')") == [("UTF8", "32")]
    shown = client.run("SELECT name FROM pg_show_all_settings() AS s WHERE s.name = 'max_index_keys'")
    assert shown == [("max_index_keys",)]
    assert client.run("SELECT count(*) > 0 FROM pg_catalog.pg_show_all_settings()") == [(True,)]
    with pytest.raises(SqlError) as raised:
        client.run("SELECT pg_is_wal_replay_paused()")
    assert (raised.value.sqlstate, raised.value.message) == ("55000", "recovery is not in progress")
    for relation in (
        *("pg_init_privs", "pg_ts_config_map", "pg_ts_dict", "pg_ts_parser", "pg_ts_template", "pg_transform"),
        *("pg_seclabels", "pg_policies"),
    ):
        assert client.run(f"SELECT count(*) FROM pg_catalog.{relation}") == [(0,)]


def test_a_name_counts_its_characters_from_0(client: Client) -> None:
    found = client.run("SELECT typname[0], typname[3], typname[4], typname[-1] FROM pg_type WHERE typname = 'int4'")
    assert found == [("i", "4", None, None)]


def test_operator_classes_of_indexes(table: Client) -> None:
    table.run("CREATE TABLE texts (a varchar, b int)")
    table.run("CREATE INDEX texts_a ON texts (a varchar_pattern_ops, b int4_ops DESC)")
    table.run("INSERT INTO texts VALUES ('x', 1), ('y', 2)")
    assert table.run("SELECT b FROM texts WHERE a = 'y'") == [(2,)]
    with pytest.raises(UndefinedObject) as raised:
        table.run("CREATE INDEX texts_b ON texts (a nosuch_ops)")
    assert raised.value.message == 'operator class "nosuch_ops" does not exist for access method "btree"'


def test_a_type_with_its_schema_in_quotes(client: Client) -> None:
    """asyncpg's copy_from_query writes the types of its arguments so."""
    assert client.run("""SELECT '1'::"pg_catalog" . "int4", '{2}'::"pg_catalog"."int4"[]""") == [(1, [2])]
    with pytest.raises(SqlError) as raised:
        client.run("""SELECT '1'::"other"."int4\"""")
    assert raised.value.sqlstate == "42704"


def test_group_by_an_output_name_that_two_columns_have(table: Client) -> None:
    """dbt-risingwave lists relations so; PostgreSQL finds the name ambiguous."""
    table.run("INSERT INTO t VALUES (3, 2)")
    asked = "SELECT a.n AS n, count(*) FROM t a JOIN t b ON a.id = b.id GROUP BY n ORDER BY 1"
    assert table.run(asked) == [(1, 1), (2, 2)]
    with pytest.raises(SqlError, match='column reference "id" is ambiguous'):
        table.run("SELECT count(*) FROM t a JOIN t b ON a.id = b.id GROUP BY id")
