"""A small TPC-H database, the same for every run: values from so few that each query finds something.

`rows(table)` gives a table's rows as SQL literals. Foreign keys hold; some customers have no orders.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator

SEED = 22
SUPPLIERS, CUSTOMERS, PARTS, ORDERS = 16, 40, 40, 160

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = [("KENYA", 0), ("BRAZIL", 1), ("CANADA", 1), ("INDIA", 2), ("CHINA", 2), ("FRANCE", 3), ("GERMANY", 3)]
NATIONS += [("SAUDI ARABIA", 4)]
SEGMENTS = ["BUILDING", "AUTOMOBILE", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
TYPES = ["ECONOMY ANODIZED STEEL", "PROMO BURNISHED BRASS", "MEDIUM POLISHED COPPER", "STANDARD PLATED BRASS"]
BRANDS = ["Brand#12", "Brand#23", "Brand#34", "Brand#45"]
CONTAINERS = ["SM CASE", "MED BOX", "LG PACK", "SM BOX"]
NAMES = ["forest green lace", "dark green rose", "forest lemon", "ivory sienna"]
SIZES = [3, 9, 14, 15, 23]
MODES = ["MAIL", "SHIP", "AIR", "AIR REG", "RAIL"]
INSTRUCTIONS = ["DELIVER IN PERSON", "NONE"]
COMMENTS = ["quickly", "special handling requests", "slowly", "even packages"]
START = datetime.date(1992, 6, 1)
DAYS = 5 * 365


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def money(random_: random.Random, low: int, high: int) -> str:
    return f"{random_.randint(low * 100, high * 100) / 100:.2f}"


class Generator:
    """Draws rows; two generators with the same seed draw the same ones."""

    def __init__(self, seed: int = SEED) -> None:
        self.random = random.Random(seed)

    def database(self) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Each table's name and rows."""
        yield "region", [(str(i), text(name), "''") for i, name in enumerate(REGIONS)]
        yield "nation", [(str(i), text(name), str(region), "''") for i, (name, region) in enumerate(NATIONS)]
        yield "supplier", [self.supplier(i) for i in range(1, SUPPLIERS + 1)]
        yield "customer", [self.customer(i) for i in range(1, CUSTOMERS + 1)]
        yield "part", [self.part(i) for i in range(1, PARTS + 1)]
        yield "partsupp", [row for i in range(1, PARTS + 1) for row in self.supplies(i)]
        yield "orders", [self.order(i) for i in range(1, ORDERS + 1)]
        yield "lineitem", [row for i in range(1, ORDERS + 1) for row in self.items(i)]

    def supplier(self, key: int) -> tuple[str, ...]:
        comment = "Customer grave Complaints" if self.random.random() < 0.2 else "fine"
        nation = self.random.randrange(len(NATIONS))
        name = text(f"Supplier#{key:04}")
        return (str(key), name, text(f"street {key}"), str(nation), text(f"1{key}"), self._balance(), text(comment))

    def customer(self, key: int) -> tuple[str, ...]:
        phone = f"{self.random.choice([13, 31, 23, 29, 11])}-{key:04}"
        nation, segment = self.random.randrange(len(NATIONS)), self.random.choice(SEGMENTS)
        name = text(f"Customer#{key:04}")
        address = text(f"road {key}")
        return (str(key), name, address, str(nation), text(phone), self._balance(), text(segment), text("regular"))

    def _balance(self) -> str:
        return money(self.random, -500, 5000)

    def part(self, key: int) -> tuple[str, ...]:
        choice = self.random.choice
        return (
            *(str(key), text(choice(NAMES)), text(f"Manufacturer#{key % 5}"), text(choice(BRANDS))),
            *(text(choice(TYPES)), str(choice(SIZES)), text(choice(CONTAINERS)), money(self.random, 900, 1500), "''"),
        )

    def supplies(self, part: int) -> Iterator[tuple[str, ...]]:
        for supplier in self.random.sample(range(1, SUPPLIERS + 1), 3):
            yield str(part), str(supplier), str(self.random.randint(1, 60)), money(self.random, 1, 100), "''"

    def order(self, key: int) -> tuple[str, ...]:
        customer = self.random.randint(1, CUSTOMERS * 2 // 3)
        day = START + datetime.timedelta(self.random.randrange(DAYS))
        status, priority = self.random.choice("FOP"), self.random.choice(PRIORITIES)
        total, comment = money(self.random, 100, 50000), self.random.choice(COMMENTS)
        return (
            *(str(key), str(customer), text(status), total, text(str(day)), text(priority), "'clerk'", "0"),
            text(comment),
        )

    def items(self, order: int) -> Iterator[tuple[str, ...]]:
        for number in range(1, self.random.randint(1, 6) + 1):
            yield self.item(order, number)

    def item(self, order: int, number: int) -> tuple[str, ...]:
        r = self.random
        shipped = START + datetime.timedelta(r.randrange(DAYS))
        committed, received = (shipped + datetime.timedelta(r.randint(low, 40)) for low in (-20, 1))
        return (
            *(str(order), str(r.randint(1, PARTS)), str(r.randint(1, SUPPLIERS)), str(number), str(r.randint(1, 50))),
            *(money(r, 900, 50000), f"0.{r.randint(0, 10):02}", f"0.0{r.randint(0, 8)}", text(r.choice("ANR"))),
            *(text(r.choice("OF")), text(str(shipped)), text(str(committed)), text(str(received))),
            *(text(r.choice(INSTRUCTIONS)), text(r.choice(MODES)), "''"),
        )


def insert(table: str, rows: list[tuple[str, ...]]) -> str:
    """The INSERT of some rows."""
    return f"INSERT INTO {table} VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)
