"""The pipeline's relations: events of Nexmark go to topics, views read the topics, and sinks write the views to topics.

DuckDB runs the queries of VIEWS as they are, to judge the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PARTITIONS = 4  # of each topic: noida-db wants less than 100 MB in one


@dataclass(frozen=True, slots=True)
class EventTable:
    """A table of Nexmark that goes through a topic of its name; `columns` with their types, as SQL writes them."""

    nexmark_table: str
    columns: Mapping[str, str]


EVENTS: Mapping[str, EventTable] = {
    "bids": EventTable(
        "bid", {"auction": "bigint", "price": "bigint", "channel": "varchar", "date_time": "timestamptz"}
    ),
    "auctions": EventTable("auction", {"id": "bigint", "category": "bigint"}),
}


@dataclass(frozen=True, slots=True)
class PipelineView:
    """A view over the topics, and its primary key, by which its topic is written."""

    key: str
    query: str


VIEWS: Mapping[str, PipelineView] = {
    "by_auction": PipelineView(
        "auction",
        "SELECT auction, count(*) AS bids, sum(price) AS total, max(price) AS highest FROM bids GROUP BY auction",
    ),
    "by_category": PipelineView(
        "category",
        "SELECT category, count(*) AS bids, max(price) AS highest"
        " FROM bids JOIN auctions ON bids.auction = auctions.id GROUP BY category",
    ),
}

# What the live display reads: one row.
CREATE_PROGRESS = "CREATE MATERIALIZED VIEW progress AS SELECT count(*) AS bids, max(date_time) AS newest FROM bids"


def readers(address: str) -> Sequence[str]:
    """The sources over the topics, the views over them, and the sinks of the views."""
    made = [
        f"CREATE SOURCE {name} ({_typed(table)}) WITH ({_kafka(address, name)}) FORMAT PLAIN ENCODE JSON"
        for name, table in EVENTS.items()
    ]
    made.append(CREATE_PROGRESS)
    for name, view in VIEWS.items():
        made.append(f"CREATE MATERIALIZED VIEW {name} AS {view.query}")
        options = f"{_kafka(address, name)}, type = 'upsert', primary_key = '{view.key}'"
        made.append(f"CREATE SINK {name}_out FROM {name} WITH ({options}) FORMAT UPSERT ENCODE JSON")
    return made


def writers(address: str, *, events: int, gap_nanoseconds: int, begin_milliseconds: int) -> Sequence[str]:
    """The sources that make the events, from `begin_milliseconds` of 1970 on, and the sinks that write the topics."""
    clock = (
        f"nexmark.event.num = {events}, nexmark.min.event.gap.in.ns = {gap_nanoseconds},"
        f" nexmark.begin.millis = {begin_milliseconds}"
    )
    made = []
    for name, table in EVENTS.items():
        options = f"connector = 'nexmark', nexmark.table.type = '{table.nexmark_table}', {clock}"
        made.append(f"CREATE SOURCE generated_{name} ({_typed(table)}) WITH ({options})")
        query = f"SELECT {', '.join(table.columns)} FROM generated_{name}"
        options = f"{_kafka(address, name)}, type = 'append-only'"
        made.append(f"CREATE SINK {name}_in AS {query} WITH ({options}) FORMAT PLAIN ENCODE JSON")
    return made


def _typed(table: EventTable) -> str:
    return ", ".join(f"{column} {type_}" for column, type_ in table.columns.items())


def _kafka(address: str, topic: str) -> str:
    return f"connector = 'kafka', properties.bootstrap.server = '{address}', topic = '{topic}'"
