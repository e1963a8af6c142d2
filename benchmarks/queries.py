"""The benchmark's queries and the sums by which their answers are compared."""

from __future__ import annotations

QUERIES = {
    "q_agg": "SELECT auction, count(*) AS bids, sum(price) AS total, max(price) AS highest FROM bid GROUP BY auction",
    "q_count_distinct": "SELECT date_trunc('second', date_time) AS second, count(DISTINCT bidder) AS bidders, "
    "count(*) AS bids FROM bid GROUP BY date_trunc('second', date_time)",
    "q_stateless": "SELECT auction, bidder, price * 908 / 1000 AS euros, channel, date_time FROM bid "
    "WHERE auction % 3 <> 0",
    "q_topn": "SELECT auction, bidder, price FROM (SELECT auction, bidder, price, "
    "row_number() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) AS numbered WHERE place <= 3",
    "q_dedup": "SELECT auction, bidder, price, channel, date_time FROM (SELECT *, "
    "row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid) AS numbered "
    "WHERE place = 1",
}
CHECKS = {
    "q_agg": "SELECT count(*), sum(bids), sum(total), sum(highest) FROM",
    "q_count_distinct": "SELECT count(*), sum(bidders), sum(bids) FROM",
    "q_stateless": "SELECT count(*), sum(auction), sum(bidder), sum(euros) FROM",
    "q_topn": "SELECT count(*), sum(auction), sum(price) FROM",
    "q_dedup": "SELECT count(*), sum(auction), sum(bidder), sum(price) FROM",
}

JOIN_QUERY = (
    "SELECT b.auction, b.bidder, b.price, b.channel, a.category, a.reserve "
    "FROM bid b JOIN auction a ON b.auction = a.id"
)
JOIN_CHECK = "SELECT count(*), sum(auction), sum(price), sum(reserve) FROM"

SMALL_TABLE = "(k BIGINT PRIMARY KEY, v BIGINT)"
SMALL_VIEW = "SELECT k % 100 AS g, count(*) AS n, sum(v) AS s FROM {table} GROUP BY k % 100"

PER_KEY = "SELECT k, count(*) AS n, sum(v) AS s FROM events GROUP BY k"


def for_duckdb(query: str) -> str:
    """DuckDB's division of integers is `//`."""
    return query.replace(" / ", " // ")


def for_spark(query: str) -> str:
    """Spark's division of integers is `div`."""
    return query.replace(" / ", " div ")
