"""Parameters for varchar(n) and char(n) columns, what every ORM creates: stored without the evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from risingpy.batch.parameters import constant
from risingpy.errors import SqlError
from risingpy.plan.expressions import Call, Cast, Literal, Parameter
from risingpy.types import INTEGER, VARCHAR, SqlType, TypeKind
from tests.frontend.session.conftest import Client

SHORT = SqlType(TypeKind.VARCHAR, length=3)
PADDED = SqlType(TypeKind.CHARACTER, length=3)
_BARE = {"check_length": VARCHAR, "check_character": SqlType(TypeKind.CHARACTER)}


@pytest.mark.parametrize(
    ("function", "target", "value", "stored"),
    [
        ("check_length", SHORT, "abc", "abc"),
        ("check_length", SHORT, "a  ", "a  "),
        ("check_length", SHORT, None, None),
        ("check_character", PADDED, "ab", "ab"),
    ],
)
def test_a_text_that_fits_is_a_constant(function: str, target: SqlType, value: Any, stored: Any) -> None:
    bare = _BARE[function]
    expr = Cast(Call(function, (Parameter(1, bare), Literal(3, INTEGER)), bare), target)
    assert constant(expr, [value]) == Literal(stored, target)
    assert constant(expr, ["abcd"]) is None


@pytest.fixture
def names(client: Client) -> Client:
    client.run("CREATE TABLE names (id int PRIMARY KEY, a varchar(3), b char(3))")
    return client


INSERT = "INSERT INTO names VALUES ($1, $2, $3)"


def test_what_is_stored_is_what_the_evaluator_stores(names: Client) -> None:
    for number, text in enumerate(("abc", "a", "", " b", "a ", "abc  ", None)):
        names.run(INSERT, number, text, text)
        names.run("INSERT INTO names SELECT $1::int, v, v FROM (VALUES ($2::text)) AS t (v)", number + 100, text)
    rows = names.run("SELECT a, b, length(a), length(b) FROM names WHERE id < 100 ORDER BY id")
    assert rows == names.run("SELECT a, b, length(a), length(b) FROM names WHERE id >= 100 ORDER BY id")
    assert rows[5][:1] == ("abc",)


def test_what_is_too_long_is_refused_and_nothing_is_stored(names: Client) -> None:
    for values in ((1, "abcd", "x"), (1, "x", "abcd")):
        with pytest.raises(SqlError, match=r"value too long for type character( varying)?\(3\)") as raised:
            names.run(INSERT, *values)
        assert raised.value.sqlstate == "22001"
    assert names.run("SELECT count(*) FROM names") == [(0,)]


def test_texts_that_recur_are_planned_once(names: Client) -> None:
    for number in range(4):
        text = f"INSERT INTO names (id, a) VALUES ({number}, 'ab')"
        found = names.session.recurring(text)
        assert (found is not None) == (number > 0)
        names.run(text)
