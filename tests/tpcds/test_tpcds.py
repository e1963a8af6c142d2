"""TPC-DS: each query by SELECT, by a view made before the data and by one made after it, and again after changes.

`make test` asks some of the 99, of a sixteenth of scale 0.01; `make tpcds-test` all, at scale 0.1.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.postgres_oracle import missing_reason
from tests.tpcds.campaign import expected_answers, run_group, steps
from tests.tpcds.data import PROGRAM, data_directory
from tests.tpcds.queries import QUERIES, columns, tables

WHOLE = "RISINGPY_TPCDS_SCALE" in os.environ
SCALE, SHARE = (os.environ["RISINGPY_TPCDS_SCALE"], 1) if WHOLE else ("0.01", 16)
GROUP = 10 if WHOLE else 30
# Of each kind of query one that has rows at this scale: correlated, of several channels, of scalar subqueries, over a
# window, of INTERSECT, of ROLLUP, of households, ranked within ROLLUP, of neighbours, of an average of groups.
SLICE = tuple(f"q{number:02}" for number in (1, 5, 9, 12, 14, 22, 34, 36, 47, 65))
NAMES = tuple(QUERIES) if WHOLE else SLICE


def test_every_query_and_every_table_is_there() -> None:
    assert list(QUERIES) == [f"q{number:02}" for number in range(1, 100)]
    assert len(tables()) == 24
    assert all(columns(table) for table in tables())


@pytest.mark.timeout(0 if WHOLE else 300)
@pytest.mark.parametrize("names", [NAMES[k : k + GROUP] for k in range(0, len(NAMES), GROUP)], ids=lambda n: n[0])
def test_four_answers_agree(names: tuple[str, ...], tmp_path: Path) -> None:
    reason = missing_reason() if PROGRAM.exists() else f"{PROGRAM} is missing: pip install tpcgen-cli"
    if reason is not None:
        pytest.skip(reason)
    directory = data_directory(SCALE, SHARE)
    count = len(steps(99)) if WHOLE else 3
    expected = expected_answers(directory, names, count)
    outcomes, _ = run_group(directory, names, expected, count)
    assert {name: found.wrong for name, found in outcomes.items() if found.wrong} == {}
    if not WHOLE:
        assert [name for name, found in outcomes.items() if not any(found.rows)] == []
