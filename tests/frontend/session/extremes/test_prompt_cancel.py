"""One value of many millions of parts: a statement that computes it is cancelled within a second or two."""

from __future__ import annotations

import time

import pytest

from risingpy.errors import QueryCanceled
from tests.frontend.session.conftest import Client

LARGE = {
    "string_to_array": "SELECT count(*) FROM (SELECT unnest(string_to_array(repeat('a,', 30000000), ','))) AS t",
    "array_to_string": "SELECT length(array_to_string(string_to_array(repeat('a,', 30000000), ','), ';'))",
    "jsonb": "SELECT length((('[' || repeat('1,', 10000000) || '1]')::jsonb)::text)",
    "jsonb of objects": "SELECT length((('[' || repeat('{\"a\": 1},', 4000000) || '1]')::jsonb)::text)",
}


@pytest.mark.parametrize("sql", LARGE.values(), ids=LARGE)
def test_a_large_value_is_cancelled_promptly(client: Client, sql: str) -> None:
    client.run("SET statement_memory = '3GB'")
    client.run("SET statement_timeout = '300ms'")
    began = time.monotonic()
    with pytest.raises(QueryCanceled):
        client.run(sql)
    assert time.monotonic() - began < 2.5


def test_a_large_text_is_split_as_a_small_one_is(client: Client) -> None:
    """The parts of a text of more than a megabyte are made slice by slice."""
    for text, separator in (("ab,", ","), ("a,,b", ",,"), ("é;", ";"), ("xyz", "-")):
        [(parts, first, last, joined)] = client.run(
            f"SELECT array_length(a, 1), a[1], a[array_length(a, 1)], array_to_string(a, '{separator}') = t"
            f" FROM (SELECT t, string_to_array(t, '{separator}') AS a FROM (SELECT repeat('{text}', 700000) AS t) AS x)"
            " AS y"
        )
        expected = (text * 700_000).split(separator)
        assert (parts, first, last, joined) == (len(expected), expected[0], expected[-1], True)
