"""A session's system relations over a catalog made by hand: a table, a view and a materialized view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from risingpy.frontend.catalog.system_query import SystemQueries
from risingpy.frontend.catalog.system_relation import Progress, Setting, SystemState
from risingpy.plan.catalog import Catalog, ColumnDesc, Relation, RelationKind
from risingpy.statement_limits import StatementLimits
from risingpy.types import BIGINT, VARCHAR, SqlType, TypeKind, numeric

ORDERS = Relation(
    7,
    "public",
    "orders",
    RelationKind.TABLE,
    (
        ColumnDesc(1, "id", BIGINT, not_null=True),
        ColumnDesc(2, "price", numeric(10, 2, declared=True)),
        ColumnDesc(3, "Note", SqlType(TypeKind.VARCHAR, length=20), default="'none'"),
    ),
    "CREATE TABLE orders (id bigint PRIMARY KEY, price numeric(10,2), \"Note\" varchar(20) DEFAULT 'none')",
    primary_key=(0,),
    stream_key=(0,),
)
EVENTS = Relation(
    8,
    "public",
    "events",
    RelationKind.TABLE,
    (ColumnDesc(1, "what", VARCHAR), ColumnDesc(2, "_row_id", BIGINT, not_null=True, hidden=True)),
    "CREATE TABLE events (what varchar) APPEND ONLY",
    append_only=True,
)
TOTALS = Relation(
    9,
    "public",
    "totals",
    RelationKind.MATERIALIZED_VIEW,
    (ColumnDesc(1, "n", BIGINT),),
    "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM orders",
    query="SELECT count(*) AS n FROM orders",
    depends_on=(7,),
)
ALL_ORDERS = Relation(
    10,
    "sales",
    "all_orders",
    RelationKind.VIEW,
    (ColumnDesc(1, "id", BIGINT),),
    "CREATE VIEW sales.all_orders AS SELECT id FROM orders",
    query="SELECT id FROM orders",
    depends_on=(7,),
)
CATALOG = Catalog(
    version=3,
    schemas=("public", "sales"),
    relations={relation.relation_id: relation for relation in (ORDERS, EVENTS, TOTALS, ALL_ORDERS)},
)
STATE = SystemState(
    CATALOG,
    process_id=42,
    settings=(Setting("TimeZone", "UTC", "The zone."), Setting("jit", "off", "")),
    parameters={"parallelism": "2"},
    progress=(Progress(TOTALS, 1000),),
    errors={9: 3},
)
SETTINGS = {"jit": "off", "server_version_num": "130014", "default_table_access_method": "heap"}


@dataclass
class Facts:
    """A session, as functions see it."""

    user: str = "root"
    process_id: int = 42
    search_path: tuple[str, ...] = ("public",)
    database_name: str = "dev"
    settings: dict[str, str] = field(default_factory=lambda: dict(SETTINGS))

    def setting(self, name: str) -> str | None:
        return self.settings.get(name.lower())

    def change_setting(self, name: str, value: str) -> None:
        self.settings[name] = value


class Asked:
    """Runs system queries and gives rows as tuples."""

    def __init__(self) -> None:
        self.facts = Facts()
        self.queries = SystemQueries(self.facts, lambda: STATE, lambda: StatementLimits(1 << 30))

    def rows(self, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        query = self.queries.prepare(sql, ())
        return [tuple(row.values()) for row in self.queries.execute(query, parameters).to_pylist()]

    def value(self, sql: str, *parameters: object) -> object:
        [row] = self.rows(sql, *parameters)
        [value] = row
        return value


@pytest.fixture
def asked() -> Iterator[Asked]:
    made = Asked()
    yield made
    made.queries.close()
