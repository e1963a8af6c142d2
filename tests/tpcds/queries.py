"""TPC-DS's 99 queries, and what happens to its tables after they are filled.

The texts are those of the specification with its default parameters, as DuckDB ships them. Where a query cuts its rows
with LIMIT, its columns are added to the order, so that there is one answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
SCHEMA = (HERE / "schema.sql").read_text()
QUERIES: dict[str, str] = dict(re.findall(r"-- (q\d\d)\n(.*?);\n", (HERE / "queries.sql").read_text(), re.DOTALL))

_SALES = {"store": ("ss", "ticket_number"), "catalog": ("cs", "order_number"), "web": ("ws", "order_number")}
_RETURNS = {"store": "sr", "catalog": "cr", "web": "wr"}
_NEW_NUMBERS = 10_000_000  # beyond those that the generator gives


def tables() -> list[str]:
    """The names, those of the facts last: a view meets their rows with the dimensions' in place."""
    return re.findall(r"CREATE TABLE (\w+)", SCHEMA)


def columns(table: str) -> list[str]:
    """A table's columns in order."""
    found = re.search(rf"CREATE TABLE {table} \((.*?)\);", SCHEMA, re.DOTALL)
    assert found is not None
    return re.findall(r"(\w+) (?:int|varchar|numeric|date)\b", found[1])


def history(seed: int) -> Iterator[tuple[str, list[str]]]:
    """Random changes: inserts, updates and deletes of all seven fact tables, then changes of dimensions."""
    random = Random(seed)
    yield "sales change", [sql for channel in _SALES for sql in _sales_changes(channel, random)]
    yield (
        "returns and inventory change",
        [
            *(sql for channel in _RETURNS for sql in _returns_changes(channel, random)),
            f"DELETE FROM inventory WHERE (inv_item_sk + inv_date_sk + inv_warehouse_sk) % 37 = {random.randrange(37)}",
            "UPDATE inventory SET inv_quantity_on_hand = inv_quantity_on_hand * 3 % 1000 "
            f"WHERE (inv_item_sk * 3 + inv_date_sk) % 29 = {random.randrange(29)}",
        ],
    )
    yield (
        "dimensions change",
        [
            f"UPDATE item SET i_current_price = i_current_price + 1.11 WHERE i_item_sk % 11 = {random.randrange(11)}",
            f"UPDATE item SET i_category = 'Music', i_class = 'rock' WHERE i_item_sk % 13 = {random.randrange(13)}",
            f"UPDATE customer_address SET ca_state = 'GA' WHERE ca_address_sk % 17 = {random.randrange(17)}",
            f"DELETE FROM customer WHERE c_customer_sk % 19 = {random.randrange(19)}",
            "UPDATE store SET s_county = 'Ziebach County' WHERE s_store_sk % 3 = 1",
        ],
    )


def _sales_changes(channel: str, random: Random) -> Iterator[str]:
    p, number = _SALES[channel]
    table = f"{channel}_sales"
    row = f"({p}_{number} * 7 + {p}_item_sk)"
    yield f"DELETE FROM {table} WHERE {row} % 43 = {random.randrange(43)}"
    yield (
        f"UPDATE {table} SET {p}_quantity = {p}_quantity % 50 + 1, {p}_net_profit = - {p}_net_profit, "
        f"{p}_ext_sales_price = {p}_ext_sales_price / 2, "
        f"{p}_sold_date_sk = {p}_sold_date_sk + {random.randint(-40, 40)} "
        f"WHERE {row} % 31 = {random.randrange(31)}"
    )
    listed = columns(table)
    values = [f"{c} + {_NEW_NUMBERS}" if c == f"{p}_{number}" else c for c in listed]
    values = [f"{c} + {random.randint(1, 30)}" if c == f"{p}_sold_date_sk" else c for c in values]
    chosen = f"{row} % 53 = {random.randrange(53)}"
    yield f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table} WHERE {chosen}"


def _returns_changes(channel: str, random: Random) -> Iterator[str]:
    p = _RETURNS[channel]
    number = f"{p}_{_SALES[channel][1]}"
    table, amount = f"{channel}_returns", f"{p}_{'return_amount' if channel == 'catalog' else 'return_amt'}"
    row = f"({number} * 3 + {p}_item_sk)"
    yield f"DELETE FROM {table} WHERE {row} % 23 = {random.randrange(23)}"
    yield (
        f"UPDATE {table} SET {amount} = {amount} * 2, {p}_return_quantity = {p}_return_quantity + 1, "
        f"{p}_returned_date_sk = {p}_returned_date_sk - 15 WHERE {row} % 19 = {random.randrange(19)}"
    )
    values = [f"{c} + {_NEW_NUMBERS}" if c == number else c for c in columns(table)]
    chosen = f"{row} % 17 = {random.randrange(17)}"
    yield f"INSERT INTO {table} SELECT {', '.join(values)} FROM {table} WHERE {chosen}"
