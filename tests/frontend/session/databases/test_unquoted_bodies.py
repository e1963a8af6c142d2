"""Bodies between BEGIN ATOMIC and END: the statements of a text around them, and new names of what they call."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.frontend.parser.parse import parse
from risingpy.meta.database import Database
from tests.frontend.session.databases.test_databases import refusal

_BODY = "BEGIN ATOMIC SELECT CASE WHEN a > 1 THEN 'x;y' ELSE 'END' END; END"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"SELECT 1; CREATE FUNCTION f(a int) RETURNS text {_BODY}; SELECT 2", 3),
        (f"create or replace procedure p(a int) {_BODY}; {_BODY.replace('BEGIN ATOMIC', '').replace('; END', ';')}", 2),
        ("CREATE PROCEDURE p() BEGIN ATOMIC SELECT 1; SELECT CASE 1 WHEN 2 THEN 3 END; SELECT 4; END; SELECT 5;", 2),
        ('CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1 /* END; */ AS "END"; END', 1),
        ("CREATE VIEW v AS SELECT begin atomic FROM t; SELECT 1", 2),
        ("BEGIN; SELECT 1 AS atomic; END", 3),
    ],
)
def test_statements_around(text: str, count: int) -> None:
    assert len(parse(text)) == count


def test_new_names(client: Any, database: Database) -> None:
    client.run("CREATE SCHEMA s")
    client.run("CREATE FUNCTION s.f(a int) RETURNS int BEGIN ATOMIC SELECT a + 1; END")
    client.run("CREATE FUNCTION of_query(a int) RETURNS int BEGIN ATOMIC SELECT s.f(a) * s.f(2); END")
    client.run("CREATE FUNCTION of_value(a int) RETURNS int BEGIN ATOMIC RETURN s.f(a); END")
    client.run("CREATE PROCEDURE calls(a int) BEGIN ATOMIC SELECT s.f(a); SELECT s.f(a); END")
    client.run("ALTER FUNCTION s.f(int) RENAME TO g")
    client.run("ALTER SCHEMA s RENAME TO r")
    assert client.run("SELECT of_query(3), of_value(3)") == [(12, 4)]
    shown = {each.name: each.definition for each in database.reads.catalog.functions.values()}
    assert shown["of_query"].endswith("BEGIN ATOMIC SELECT r.g(a) * r.g(2); END")
    assert shown["of_value"].endswith("BEGIN ATOMIC RETURN r.g(a); END")
    assert shown["g"].endswith("BEGIN ATOMIC SELECT a + 1; END")
    assert refusal(client, "CALL calls(1)")[0] in ("3F000", "42883")  # a procedure's statements stay
