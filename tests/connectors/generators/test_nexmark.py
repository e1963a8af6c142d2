"""nexmark: its tables, any cut of ranges, the benchmark's proportions, and its errors."""

from __future__ import annotations

import itertools
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingpy.connectors.generators.nexmark import NexmarkConnector
from risingpy.errors import InvalidParameterValue
from risingpy.types import BIGINT, INTEGER, TIMESTAMP, TIMESTAMPTZ, VARCHAR, SqlType

EXTRA = [("date_time", TIMESTAMP), ("extra", VARCHAR)]
TABLES: dict[str, list[tuple[str, SqlType]]] = {
    "person": [
        ("id", BIGINT),
        *((name, VARCHAR) for name in ("name", "email_address", "credit_card", "city", "state")),
        *EXTRA,
    ],
    "auction": [
        ("id", BIGINT), ("item_name", VARCHAR), ("description", VARCHAR), ("initial_bid", BIGINT), ("reserve", BIGINT),
        ("expires", TIMESTAMP), ("seller", BIGINT), ("category", BIGINT), *EXTRA,
    ],
    "bid": [("auction", BIGINT), ("bidder", BIGINT), ("price", BIGINT), ("channel", VARCHAR), ("url", VARCHAR), *EXTRA],
}  # fmt: skip


def connector(table: str, **options: str) -> NexmarkConnector:
    named = {f"nexmark.{name.replace('_', '.')}": text for name, text in options.items()}
    return NexmarkConnector({"nexmark.table.type": table, "nexmark.begin.millis": "1700000000000"} | named)


def rows(table: str, start: int, end: int, split: str = "0", **options: str) -> pa.Table:
    made = connector(table, **options)
    made.check_columns(TABLES[table])
    arrays = made.row_reader().read(split, start, end, TABLES[table])
    return pa.table(dict(zip([name for name, _ in TABLES[table]], arrays, strict=True)))


@pytest.mark.parametrize("table", TABLES)
@settings(max_examples=25)
@given(st.lists(st.integers(0, 300), min_size=1, max_size=5).map(sorted))
def test_any_cut_gives_the_same_rows(table: str, cuts: list[int]) -> None:
    whole = rows(table, 0, 300)
    parts = [rows(table, start, end) for start, end in zip([0, *cuts], [*cuts, 300], strict=True)]
    assert pa.concat_tables(parts).equals(whole)
    assert [column.null_count for column in whole.columns] == [0] * whole.num_columns
    halves = [rows(table, 0, 150, str(k), split_num="2") for k in range(2)]
    assert sorted(map(str, pa.concat_tables(halves).to_pylist())) == sorted(map(str, whole.to_pylist()))


@given(st.integers(0, 400))
def test_fifty_events_are_a_person_three_auctions_and_bids(events: int) -> None:
    ends = [connector(t, event_num=str(events), min_event_gap_in_ns="0").splits().ends()["0"].end for t in TABLES]
    assert sum(ends) == events
    if events % 50 == 0:
        assert ends == [events // 50, events // 50 * 3, events // 50 * 46]
    times = [rows(t, 0, n)["date_time"].cast(pa.int64()).to_pylist() for t, n in zip(TABLES, ends, strict=True)]
    began = 1_700_000_000_000_000
    assert sorted(itertools.chain(*times)) == [began + 100 * k for k in range(events)]


def test_bids_are_for_auctions_that_there_are_or_will_be_soon() -> None:
    bids = rows("bid", 0, 46_000).to_pydict()
    last = [k // 46 * 3 + 2 + 1000 for k in range(46_000)]
    assert all(1000 <= auction <= newest + 10 for auction, newest in zip(bids["auction"], last, strict=True))
    hot = [1000 + (newest - 1000) // 100 * 100 for newest in last]
    assert 0.49 < sum(map(int.__eq__, bids["auction"], hot)) / 46_000 < 0.53
    assert 0.74 < sum((bidder - 1001) % 100 == 0 for bidder in bids["bidder"]) / 46_000 < 0.78
    assert min(bids["price"]) >= 100 and max(bids["price"]) <= 100_000_000
    channels = Counter(bids["channel"]).most_common(4)
    assert {name for name, _ in channels} == {"Google", "Facebook", "Baidu", "Apple"}
    assert all(("channel_id=" in url) == ("-" in name) for url, name in zip(bids["url"], bids["channel"], strict=True))


def test_auctions_end_after_they_begin() -> None:
    auctions = rows("auction", 0, 3000).to_pydict()
    assert auctions["id"] == list(range(1000, 4000))
    assert set(auctions["category"]) == set(range(10, 15))
    assert all(begun < ended for begun, ended in zip(auctions["date_time"], auctions["expires"], strict=True))
    assert all(low < high for low, high in zip(auctions["initial_bid"], auctions["reserve"], strict=True))


def test_wrong_options() -> None:
    wrong: list[tuple[dict[str, str], str]] = [
        ({}, "needs the option"),
        ({"nexmark.table.type": "Seller"}, "Person, Auction or Bid"),
        ({"nexmark.table.type": "Bid", "nexmark.speed": "1"}, 'unknown option "nexmark.speed"'),
        ({"nexmark.table.type": "Bid", "nexmark.min.event.gap.in.ns": "0"}, "there is no end of events"),
        ({"nexmark.table.type": "Bid", "nexmark.event.num": "all"}, "is a whole number"),
    ]
    for options, message in wrong:
        with pytest.raises(InvalidParameterValue, match=message):
            NexmarkConnector(options)


def test_columns_are_those_of_the_table() -> None:
    connector("bid").check_columns([("date_time", TIMESTAMPTZ)])
    with pytest.raises(InvalidParameterValue, match='table bid has no column "seller"'):
        connector("bid").check_columns([("seller", BIGINT)])
    with pytest.raises(InvalidParameterValue, match='"auction" of nexmark is of type bigint, not integer'):
        connector("bid").check_columns([("auction", INTEGER)])
