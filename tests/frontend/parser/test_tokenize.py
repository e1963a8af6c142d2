"""Parameters without blanks around them, and the positions of what follows."""

from __future__ import annotations

from itertools import pairwise

import pytest

from risingpy.errors import SyntaxError_
from risingpy.frontend.parser.tokenize import tokenize


@pytest.mark.parametrize(
    "sql",
    [
        "VALUES ($1,$2)",
        "VALUES ($1,$2),($3,$4)",
        "SELECT $1+$2,$3 AS a",
        "SELECT '$1,$2',$1,$2",
        'SELECT "$1,$2",$1,$2',
        "SELECT $1,$2 -- $1,$2\n,$3",
        "SELECT /* $1,$2 */ $1,$2",
        "SELECT $1::int,$2::text",
        "SELECT $$a $1,$2$$,$1,$2",
        "SELECT $tag$ $1,$2 $tag$,$1,$2",
        "SELECT 'it''s',$1,$2",
    ],
)
def test_each_token_stands_where_it_says(sql: str) -> None:
    tokens = tokenize(sql)
    numbers = [t for before, t in pairwise(tokens) if before.text == "$"]
    assert len(numbers) >= 2
    assert all(sql[token.start - 1 : token.end + 1] == f"${token.text}" for token in numbers)
    for token in tokens:
        assert token.text.strip() in sql[token.start : token.end + 1].replace("''", "'")
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


@pytest.mark.parametrize("sql", ["SELECT 1e30+2", "SELECT 1.5E3-x", "SELECT .5e1+1 - 2e-3-1e+2", "SELECT a1e3+2"])
def test_numbers_end_where_an_operator_begins(sql: str) -> None:
    tokens = tokenize(sql)
    assert all(token.text in sql[token.start : token.end + 1] for token in tokens)
    assert any(token.text in "+-" for token in tokens)


@pytest.mark.parametrize("text", ["''", "''''", "'a''b'", "'a', ''", "E'', ''", "'$''1'''"])
def test_doubled_quotes_may_end_a_text_with_parameters(text: str) -> None:
    tokens = tokenize(f"SELECT $1, {text}")
    assert (tokens[1].text + tokens[2].text, tokens[-1].end) == ("$1", len(f"SELECT $1, {text}") - 1)


@pytest.mark.parametrize("sql", ["SELECT 123abc", "SELECT 1_000", "SELECT 0.5x", "SELECT a, 1::int, 12b"])
def test_no_word_begins_at_the_end_of_a_number(sql: str) -> None:
    with pytest.raises(SyntaxError_, match="trailing junk after numeric literal") as error:
        tokenize(sql)
    assert error.value.position == sql.rindex(" ") + 2


@pytest.mark.parametrize("sql", ['SELECT 1"a"', "SELECT 1::int", "SELECT 1.5e3+x", "SELECT a[1:2]", "SELECT 2*a, (1)a"])
def test_what_may_follow_a_number(sql: str) -> None:
    assert tokenize(sql)
