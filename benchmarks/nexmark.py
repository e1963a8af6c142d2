"""Seeded Nexmark events: bids, auctions and persons, as Arrow tables.

The shapes follow Nexmark's generator (46 bids to 3 auctions and 1 person; hot auctions draw most bids), with
columns cut to what the benchmark queries read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

AUCTIONS = 10_000
BIDDERS = 50_000
CHANNELS = 100
FIRST_TIME_US = 1_700_000_000_000_000
SKEW = 0.3  # exponent of the power distribution of auctions: low ids are cold, high ids hot

BID_COLUMNS = "auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, date_time TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Generator:
    """Deterministic events: the same seed and block number give the same rows, in any order of calls."""

    seed: int = 1

    def bids(self, block: int, rows: int) -> pa.Table:
        random = np.random.default_rng((self.seed, 1, block))
        channels = pa.array([f"channel-{number}" for number in range(CHANNELS)])
        times = FIRST_TIME_US + (np.arange(rows, dtype=np.int64) + block * rows) * 10
        return pa.table(
            {
                "auction": (AUCTIONS * random.power(SKEW, rows)).astype(np.int64),
                "bidder": random.integers(0, BIDDERS, rows),
                "price": random.integers(1, 100_000, rows),
                "channel": channels.take(pa.array(random.integers(0, CHANNELS, rows))),
                "date_time": pa.array(times, pa.timestamp("us")),
            }
        )

    def auctions(self, block: int, rows: int) -> pa.Table:
        random = np.random.default_rng((self.seed, 2, block))
        first = block * rows
        return pa.table(
            {
                "id": np.arange(first, first + rows, dtype=np.int64),
                "seller": random.integers(0, BIDDERS, rows),
                "category": random.integers(0, 20, rows),
                "reserve": random.integers(1, 100_000, rows),
            }
        )

    def persons(self, block: int, rows: int) -> pa.Table:
        random = np.random.default_rng((self.seed, 3, block))
        first = block * rows
        ids = np.arange(first, first + rows, dtype=np.int64)
        return pa.table(
            {
                "id": ids,
                "name": pa.array([f"person {number}" for number in ids]),
                "state": pa.array(np.array(["OR", "CA", "ID", "WA", "AZ"])[random.integers(0, 5, rows)]),
            }
        )
