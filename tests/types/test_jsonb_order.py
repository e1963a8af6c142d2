"""The keys of jsonb are in the order of PostgreSQL's btree, and equal where it has values equal."""

from __future__ import annotations

import json
import random

import psycopg
import pyarrow as pa
import pytest

from risingpy.storage.codec.json_columns import json_key_column
from risingpy.types.jsonb import canonical

VALUES = 1500
NUMBERS = [
    "0",
    "-0.00",
    "1",
    "1.0",
    "-1",
    "-1.50",
    "10",
    "100",
    "0.001",
    "-0.0010",
    "12.34",
    "1e3",
    "1e-3",
    "-10",
    "99.9",
]
NUMBERS += ["-99.9", "0.1", "0.10", "0.11", "123456789012345678901234567890.5", "-1e40", "1e-40", "100.0"]
PIECES = ["a", "b", "ab", '"', "\\", "\n", "\b", "é", "\x01", "\x1f", "z", "", "~", "😀", "\x7f", "\uffff"]


@pytest.mark.parametrize("seed", range(2))
def test_keys_are_in_postgresqls_order(postgres: psycopg.Connection, seed: int) -> None:
    chance = random.Random(seed)
    values = sorted({canonical(value(chance, 3)) for _ in range(VALUES)} | {"[]", "null", "{}", "[[]]", "[null]"})
    keys = json_key_column(pa.array(values)).to_pylist()
    postgres.execute("CREATE TEMPORARY TABLE IF NOT EXISTS v (i INT, j JSONB)")
    postgres.execute("TRUNCATE v")
    with postgres.cursor().copy("COPY v FROM STDIN") as copy:
        for place, each in enumerate(values):
            copy.write_row((place, each))
    ranked = postgres.execute("SELECT i, dense_rank() OVER (ORDER BY j) FROM v ORDER BY j").fetchall()
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)), start=1)}
    wrong = [(values[place], rank) for place, rank in ranked if ranks[keys[place]] != rank]
    assert not wrong


def test_keys_of_no_value_and_of_deep_ones() -> None:
    assert json_key_column(pa.array([], pa.string())).to_pylist() == []
    deep = "[" * 500 + "1" + "]" * 500
    assert (
        json_key_column(pa.array(["1", deep]).slice(1)).to_pylist()[0] == b"\6\0\0\0\1" * 500 + b"\3\2\x80\0\0\0011\0"
    )


def value(chance: random.Random, depth: int) -> str:
    """The text of a random value."""
    match chance.randrange(8 if depth else 5):
        case 0:
            return "null"
        case 1:
            return chance.choice(["true", "false"])
        case 2 | 3:
            return chance.choice(NUMBERS)
        case 4:
            return string(chance)
        case 5 | 6:
            return f"[{','.join(value(chance, depth - 1) for _ in range(chance.randrange(4)))}]"
    pairs = (f"{string(chance)}:{value(chance, depth - 1)}" for _ in range(chance.randrange(3)))
    return f"{{{','.join(pairs)}}}"


def string(chance: random.Random) -> str:
    return json.dumps("".join(chance.choice(PIECES) for _ in range(chance.randrange(3))))
