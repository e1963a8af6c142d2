"""`make abuse` runs this for RISINGPY_ABUSE_SECONDS on Spark; `make test` for a quarter of a minute without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.abuse.campaign import MEMORY, run

SECONDS = float(os.environ.get("RISINGPY_ABUSE_SECONDS", "0"))


@pytest.mark.timeout(240 + 3 * int(SECONDS))
def test_a_good_client_beside_hostile_ones(tmp_path: Path) -> None:
    long = SECONDS > 0
    outcome = run(
        tmp_path / "data",
        engine="spark" if long else "inprocess",
        quiet=20 if long else 4,
        abused=SECONDS or 15,
        clients=6 if long else 3,
        seed=int(os.environ.get("RISINGPY_ABUSE_SEED", "1")),
    )
    print(f"acts {dict(outcome.acts)}\nquiet p99 {outcome.quiet}\nabused p99 {outcome.abused}")
    print(f"quiet medians {outcome.quiet_medians}\nabused medians {outcome.abused_medians}")
    most = sum(outcome.most_memory.values())
    print(f"most memory {most >> 20} MB: { {name: size >> 20 for name, size in outcome.most_memory.items()} }")
    assert outcome.alive
    assert outcome.good_errors == []
    assert outcome.unexpected == []
    assert most < MEMORY
    if long:
        assert outcome.too_slow() == {}
    else:  # the 99th percentile of half a minute is its few worst moments: nobody may be stopped, no more is promised
        assert max(outcome.abused.values()) < 20
    assert sum(outcome.acts.values()) > 10
