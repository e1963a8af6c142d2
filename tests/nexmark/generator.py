"""People, auctions and bids in small: Nexmark's columns, with few keys, so that most rows find matches."""

from __future__ import annotations

from random import Random

_STATES = ("or", "id", "ca", "wa")
_CHANNELS = ("apple", "Google", "facebook", "baidu", "channel-7", "channel-8")


def insert(table: str, rows: list[str]) -> str:
    return f"INSERT INTO {table} VALUES {', '.join(rows)}"


class Generator:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def person(self, number: int) -> str:
        state = self._random.choice(_STATES)
        return f"({number}, 'p{number % 9}', 'p{number}@x.org', 'city {number % 4}', '{state}', '{self._time()}')"

    def auction(self, number: int) -> str:
        begin = self._random.randint(0, 40)
        times = f"'{_at(begin)}', '{_at(begin + self._random.randint(5, 60))}'"
        seller, category = self._random.randint(1, 15), self._random.randint(8, 11)
        return f"({number}, 'item {number % 5}', {number % 7}, {number % 11}, {times}, {seller}, {category})"

    def bid(self) -> str:
        channel = self._random.choice(_CHANNELS)
        url = f"https://www.nexmark.com/{self._random.choice('abc')}/{self._random.choice('de')}/item.htm?query=1"
        if self._random.random() < 0.5:
            url += f"&channel_id={self._random.randint(1, 99)}"
        price = self._random.choice((50, 99, 100, 150, 999, 1000, 4000, 9000)) + self._random.randint(0, 3)
        auction, bidder = self._random.randint(1, 20), self._random.randint(1, 12)
        return f"({auction}, {bidder}, {price}, '{channel}', '{url}', '{self._time()}', '{'abc' * (price % 4)}')"

    def _time(self) -> str:
        return _at(self._random.randint(0, 90))


def _at(second: int) -> str:
    """A moment of one of two days, some of them at night."""
    return f"2026-03-{1 + second % 2:02} {(7, 12, 21)[second % 3]:02}:{second // 60:02}:{second % 60:02}"
