"""CREATE SOURCE: what INCLUDE, WITH and FORMAT … ENCODE say, and where credentials stand."""

from __future__ import annotations

import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.errors import SqlError
from risingpy.frontend.parser import ast, parse
from risingpy.frontend.parser.ast_alter import AlterConnector, AlterSink
from risingpy.frontend.shown_text import shown_text


def source(sql: str) -> ast.CreateSource:
    (parsed,) = parse(sql)
    assert isinstance(parsed.statement, ast.CreateSource)
    return parsed.statement


def test_options_and_format() -> None:
    statement = source(
        "CREATE SOURCE s (a INT) WITH (Connector = 'kafka', properties.bootstrap.server = 'h:1', source_rate_limit = 5)"
        " FORMAT PLAIN ENCODE CSV (without_header = true, delimiter = ';')"
    )
    assert statement.options == (
        ("connector", "kafka"),
        ("properties.bootstrap.server", "h:1"),
        ("source_rate_limit", "5"),
    )
    options = (("without_header", "true"), ("delimiter", ";"))
    assert statement.message_format == MessageFormat("plain", "csv", options)


def test_a_comma_may_end_the_options_and_hyphens_join_a_name() -> None:
    statement = source(
        "CREATE SOURCE s (a INT) WITH (connector = 'x', headers.X-Api-Key = 'k', fields.v-x.min = -5,)"
        " FORMAT PLAIN ENCODE JSON (schemas.enable = 'true',)"
    )
    assert statement.options == (("connector", "x"), ("headers.x-api-key", "k"), ("fields.v-x.min", "-5"))
    assert statement.message_format == MessageFormat("plain", "json", (("schemas.enable", "true"),))
    assert source("CREATE SOURCE s (a INT) WITH ()").options == ()


@pytest.mark.parametrize("options", ["(,)", "(a = 1,,)", "(a = 1 b = 2)", "(a. = 1)", "(a- = 1)"])
def test_options_that_are_none(options: str) -> None:
    with pytest.raises(SqlError) as raised:
        parse(f"CREATE SOURCE s (a INT) WITH {options}")
    assert raised.value.sqlstate == "42601"


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        ("ALTER SOURCE s SET properties.client.id TO 'x'", (("properties.client.id", "x"),)),
        ("ALTER SOURCE s CONNECTOR WITH (a.b = 'c', password = 'secret',)", (("a.b", "c"), ("password", "secret"))),
        ("ALTER TABLE s CONNECTOR WITH (a = 1)", (("a", "1"),)),
        ("ALTER SINK s SET sink_rate_limit TO 100", (("sink_rate_limit", "100"),)),
        ("ALTER SINK s CONNECTOR WITH (a = 1,)", (("a", "1"),)),
    ],
)
def test_what_alter_changes(sql: str, options: tuple[tuple[str, str], ...]) -> None:
    (parsed,) = parse(sql)
    assert isinstance(parsed.statement, AlterConnector | AlterSink)
    assert parsed.statement.options == options
    assert "secret" not in shown_text(parsed)


def test_includes() -> None:
    statement = source(
        "CREATE SOURCE s (a INT) INCLUDE key INCLUDE timestamp AS ts INCLUDE header INCLUDE header 'h'"
        " INCLUDE header 'g' varchar AS g WITH (connector = 'kafka')"
    )
    found = [
        (i.part, i.header, i.header_type and i.header_type.text, i.name and i.name.name) for i in statement.includes
    ]
    assert found == [
        ("key", None, None, None),
        ("timestamp", None, None, "ts"),
        ("header", None, None, None),
        ("header", "h", None, None),
        ("header", "g", "varchar", "g"),
    ]


def test_values_are_found() -> None:
    sql = (
        "SELECT 1; CREATE SOURCE s (a INT) WITH (properties.sasl.password = 'p''w', topic = keys, n = -5)"
        " FORMAT PLAIN ENCODE JSON (auth_token = 't')"
    )
    statement = parse(sql)[1].statement
    assert isinstance(statement, ast.CreateSource)
    found = {place.name: sql[place.begin - 1 : place.end - 1] for place in statement.option_places}
    assert found == {"properties.sasl.password": "'p''w'", "topic": "keys", "n": "-5", "auth_token": "'t'"}


@pytest.mark.parametrize(
    ("sql", "message", "position"),
    [
        ("CREATE SOURCE s (a INT) INCLUDE colour WITH (connector = 'x')", 'cannot include "colour"', 33),
        ("CREATE SOURCE s (a INT) WITH (connector)", "syntax error", 40),
        ("CREATE SOURCE s (a INT) WITH (connector = 'x') FORMAT PLAIN", "syntax error", None),
    ],
)
def test_mistakes(sql: str, message: str, position: int | None) -> None:
    with pytest.raises(SqlError) as error:
        parse(sql)
    assert str(error.value).startswith(message)
    assert position in (None, error.value.position)


def test_a_star_begins_no_table_of_a_query() -> None:
    """`(*)` before WITH are the columns of a source's messages, and not the names of CREATE TABLE … AS."""
    for clause in ("WITH (connector = 'kafka') FORMAT PLAIN ENCODE AVRO (schema.location = 'x')", "FROM s TABLE 't'"):
        [parsed] = parse(f"CREATE TABLE t (*) {clause}")
        assert isinstance(parsed.statement, ast.CreateTable)
        assert parsed.statement.all_columns or parsed.statement.copied is not None
