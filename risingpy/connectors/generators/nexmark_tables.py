"""Nexmark's persons, auctions and bids: what each column of row g is.

Of 50 events, the first is a person, the next three are auctions and 46 are bids. Half of the bids are for the newest
hot auction, and three of four bidders and sellers are hot. Source: Apache Beam's Nexmark, as in RisingWave's generator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.generators.random_values import (
    Numbers,
    random_fractions,
    random_integers,
    random_texts,
    salt_of,
)

EVENTS = 50  # of a round
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
IN_FLIGHT, ACTIVE, LEAD = 100, 1_000, 10  # auctions, persons; how far ids run ahead
HOT_ROUND = 100  # how many ids share a hot one
CHANNELS = 10_000
_HOT_CHANNELS = pa.array(["Google", "Facebook", "Baidu", "Apple"])
_STATES = pa.array(["AZ", "CA", "ID", "OR", "WA", "WY"])
_CITIES = pa.array(
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"]
)
_FIRST_NAMES = pa.array(
    ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
)
_LAST_NAMES = pa.array(["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"])

Column = Callable[[Numbers], pa.Array]


@dataclass(frozen=True, slots=True)
class NexmarkTable:
    """One of the three tables. Row g is the event `event(g)`, which is at `begin` µs + its number × `gap` ns."""

    name: str
    begin: int
    gap: int

    @property
    def columns(self) -> Mapping[str, Column]:
        """Makes of each column, by name, the values of the rows with these numbers."""
        tables = {"person": self._person, "auction": self._auction, "bid": self._bid}
        return {**tables[self.name](), "date_time": self._time, "extra": self._texts("extra", 32)}

    def rows_of(self, events: int) -> int:
        """How many of the first events are rows of the table."""
        first, count = _PLACES[self.name]
        return events // EVENTS * count + min(max(events % EVENTS - first, 0), count)

    def _event(self, rows: Numbers) -> Numbers:
        first, count = _PLACES[self.name]
        return rows // count * EVENTS + first + rows % count

    def _person(self) -> Mapping[str, Column]:
        return {
            "id": lambda rows: pa.array(rows + FIRST_ID),
            "name": lambda rows: _joined(self._pick(rows, "first", _FIRST_NAMES), self._pick(rows, "l", _LAST_NAMES)),
            "email_address": lambda rows: pc.binary_join_element_wise(
                self._texts("user", 7)(rows), "@", self._texts("host", 5)(rows), ".com", ""
            ),
            "credit_card": lambda rows: _joined(*(self._digits(rows, part) for part in ("1", "2", "3", "4"))),
            "city": lambda rows: self._pick(rows, "city", _CITIES),
            "state": lambda rows: self._pick(rows, "state", _STATES),
        }

    def _auction(self) -> Mapping[str, Column]:
        return {
            "id": lambda rows: pa.array(rows + FIRST_ID),
            "item_name": self._texts("item", 20),
            "description": self._texts("description", 100),
            "initial_bid": lambda rows: pa.array(self._price(rows, "initial")),
            "reserve": lambda rows: pa.array(self._price(rows, "initial") + self._price(rows, "reserve")),
            "expires": self._expires,
            "seller": lambda rows: pa.array(self._persons(rows, hot=0)),
            "category": lambda rows: pa.array(self._integers(rows, "category", CATEGORIES) + FIRST_CATEGORY),
        }

    def _bid(self) -> Mapping[str, Column]:
        return {
            "auction": self._bids_auction,
            "bidder": lambda rows: pa.array(self._persons(rows, hot=1)),
            "price": lambda rows: pa.array(self._price(rows, "price")),
            "channel": lambda rows: pc.if_else(
                self._is_hot_channel(rows),
                self._pick(rows, "hot channel", _HOT_CHANNELS),
                pc.binary_join_element_wise("channel", self._channel(rows), "-"),
            ),
            "url": self._url,
        }

    def _time(self, rows: Numbers) -> pa.Array:
        return pa.array(self.begin + self._event(rows) * self.gap // 1_000).cast(pa.timestamp("us"))

    def _expires(self, rows: Numbers) -> pa.Array:
        """After 1 ms to twice the time in which as many auctions come as are open at once."""
        horizon = max(IN_FLIGHT * EVENTS // 3 * self.gap // 1_000_000 * 2, 1)
        begun = self.begin + self._event(rows) * self.gap // 1_000
        return pa.array(begun + (self._integers(rows, "expires", horizon) + 1) * 1_000).cast(pa.timestamp("us"))

    def _bids_auction(self, rows: Numbers) -> pa.Array:
        last = self._event(rows) // EVENTS * 3 + 2  # a bid comes after the auctions of its round
        lowest = np.maximum(last - IN_FLIGHT, 0)
        others = lowest + (random_fractions(rows, self._salt("auction")) * (last - lowest + 1 + LEAD)).astype(np.int64)
        hot = self._integers(rows, "hot auction", 2) > 0
        return pa.array(np.where(hot, last // HOT_ROUND * HOT_ROUND, others) + FIRST_ID)

    def _persons(self, rows: Numbers, *, hot: int) -> Numbers:
        """The sellers or bidders; `hot` is which person of a hundred is hot."""
        people = self._event(rows) // EVENTS + 1
        active = np.minimum(people, ACTIVE)
        others = people - active + (random_fractions(rows, self._salt("person")) * (active + LEAD)).astype(np.int64)
        is_hot = self._integers(rows, "hot person", 4) > 0
        chosen: Numbers = np.where(is_hot, (people - 1) // HOT_ROUND * HOT_ROUND + hot, others) + FIRST_ID
        return chosen

    def _price(self, rows: Numbers, use: str) -> Numbers:
        """100 to 100,000,000 cents, as many of each magnitude."""
        return np.rint(10.0 ** (random_fractions(rows, self._salt(use)) * 6) * 100).astype(np.int64)

    def _url(self, rows: Numbers) -> pa.Array:
        paths = [self._texts(use, 5)(rows) for use in ("a", "b", "c")]
        plain = pc.binary_join_element_wise("https://www.nexmark.com", *paths, "item.htm?query=1", "/")
        numbered = pc.binary_join_element_wise(plain, "&channel_id=", self._channel(rows), "")
        return pc.if_else(self._is_hot_channel(rows), plain, numbered)

    def _is_hot_channel(self, rows: Numbers) -> pa.Array:
        return pa.array(self._integers(rows, "is hot channel", 2) > 0)

    def _channel(self, rows: Numbers) -> pa.Array:
        return pc.cast(pa.array(self._integers(rows, "channel", CHANNELS)), pa.string())

    def _digits(self, rows: Numbers, part: str) -> pa.Array:
        numbers = pc.cast(pa.array(self._integers(rows, f"card {part}", 10_000)), pa.string())
        return pc.utf8_lpad(numbers, 4, "0")

    def _pick(self, rows: Numbers, use: str, values: pa.Array) -> pa.Array:
        return values.take(pa.array(self._integers(rows, use, len(values))))

    def _texts(self, use: str, length: int) -> Column:
        return lambda rows: random_texts(rows, self._salt(use), length)

    def _integers(self, rows: Numbers, use: str, count: int) -> Numbers:
        return random_integers(rows, self._salt(use), 0, count - 1)

    def _salt(self, use: str) -> int:
        return salt_of("nexmark", self.name, use)


# Of each table: which event of a round is its first row, and how many rows it has.
_PLACES: Mapping[str, tuple[int, int]] = {"person": (0, 1), "auction": (1, 3), "bid": (4, 46)}


def _joined(*texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*texts, " ")
