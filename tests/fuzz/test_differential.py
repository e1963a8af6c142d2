"""Random queries have four equal answers; `make fuzz SEEDS=500` asks for more of them."""

from __future__ import annotations

import os

import pytest

from tests.fuzz import many_rows, mutual_recursion
from tests.fuzz.differential import run_seed
from tests.postgres_oracle import PostgresOracle

QUERIES = 24  # half of a campaign's: so a test has more than one number of shards in its time
SEEDS = int(os.environ.get("RISINGPY_FUZZ_SEEDS", "2"))


@pytest.mark.timeout(0 if SEEDS > 100 else 300)
def test_four_answers_agree(postgres_oracle: PostgresOracle) -> None:
    asked = 0
    with postgres_oracle.connect() as postgres:
        for seed in range(SEEDS):
            outcome = run_seed(seed, postgres, QUERIES)
            asked += outcome.queries
            assert not outcome.differences, f"seed {seed}: {min(outcome.differences, key=len)}"
            assert not outcome.refused, f"seed {seed}: {dict(outcome.refused)}"
    assert asked >= SEEDS * QUERIES // 2


@pytest.mark.timeout(0 if SEEDS > 100 else 300)
def test_answers_of_thousands_of_rows_agree(postgres_oracle: PostgresOracle) -> None:
    with postgres_oracle.connect() as postgres:
        for seed in range(max(1, SEEDS // 4)):
            outcome = many_rows.run_seed(seed, postgres, QUERIES // 2)
            assert not outcome.differences, f"seed {seed}: {min(outcome.differences, key=len)}"


@pytest.mark.timeout(0 if SEEDS > 100 else 300)
def test_programs_of_mutual_recursion_have_equal_answers() -> None:
    for seed in range(max(1, SEEDS // 4)):
        assert mutual_recursion.differing(seed) == []
