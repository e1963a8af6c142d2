"""A session's system relations over a catalog made by hand: a table, a view and a materialized view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest

from risingpy.batch import BatchRunner, OwnChanges, PreparedQuery
from risingpy.frontend.binder import SessionValues, SetConfig, bind_query
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import Select
from risingpy.frontend.results import ResultField
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.select import result_fields, set_settings
from risingpy.frontend.system_catalog.registry import NAMED_RELATIONS, StateRows
from risingpy.frontend.system_catalog.system_relation import Setting, SystemState
from risingpy.functions.evaluation.query_engines import QueryEngines
from risingpy.meta.introspection import JobInCreation
from risingpy.meta.reads import CommittedSnapshot
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import FIRST_DATABASES, Catalog, ColumnDesc, MaterializedView, Table, View
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.state_tables import relation_table
from risingpy.statement_limits import StatementLimits
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, UNKNOWN, VARCHAR, SqlType, TypeKind, numeric
from risingpy.types.oids import type_by_oid

_ORDERS = (
    ColumnDesc(1, "id", BIGINT, not_null=True),
    ColumnDesc(2, "price", numeric(10, 2, declared=True)),
    ColumnDesc(3, "Note", SqlType(TypeKind.VARCHAR, length=20), default="'none'"),
)
_EVENTS = (ColumnDesc(1, "what", VARCHAR), ColumnDesc(2, "_row_id", BIGINT, not_null=True, hidden=True))
_TOTALS = (ColumnDesc(1, "n", BIGINT),)
ORDERS = Table(
    7,
    "public",
    "orders",
    _ORDERS,
    "CREATE TABLE orders (id bigint PRIMARY KEY, price numeric(10,2), \"Note\" varchar(20) DEFAULT 'none')",
    primary_key=(0,),
    stream_key=(0,),
    table=relation_table(7, "orders", _ORDERS, (KeyColumn(0),), (0,)),
)
EVENTS = Table(
    8,
    "public",
    "events",
    _EVENTS,
    "CREATE TABLE events (what varchar) APPEND ONLY",
    append_only=True,
    stream_key=(1,),
    table=relation_table(8, "events", _EVENTS, (KeyColumn(1),), (1,)),
)
TOTALS = MaterializedView(
    9,
    "public",
    "totals",
    _TOTALS,
    "CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM orders",
    query="SELECT count(*) AS n FROM orders",
    depends_on=(7,),
    stream_key=(),
    table=relation_table(9, "totals", _TOTALS, (), ()),
)
ALL_ORDERS = View(
    10,
    "sales",
    "all_orders",
    (ColumnDesc(1, "id", BIGINT),),
    "CREATE VIEW sales.all_orders AS SELECT id FROM orders",
    query="SELECT id FROM orders",
    depends_on=(7,),
)
CATALOG = Catalog(
    version=3,
    databases={1: replace(FIRST_DATABASES[1], schemas=("public", "sales"))},
    relations={relation.relation_id: relation for relation in (ORDERS, EVENTS, TOTALS, ALL_ORDERS)},
)
STATE = SystemState(
    CATALOG,
    NAMED_RELATIONS,
    process_id=42,
    settings=(Setting("TimeZone", "UTC", "The zone."), Setting("jit", "off", "")),
    parameters={"parallelism": "2"},
    progress=lambda: (JobInCreation(TOTALS, 1000, 4000, 500.0, None, None, False),),
    errors={9: 3},
)
SETTINGS = {"jit": "off", "server_version_num": "140017", "default_table_access_method": "heap"}


@dataclass
class HeldView:
    """What a query reads besides system relations: nothing."""

    ended: None = None

    def release(self) -> None:
        pass

    def statistics(self) -> dict[int, object]:
        return {}


class FakeSettings(dict[str, str]):
    """A session's settings."""

    def set(self, name: str, values: tuple[str, ...], *, local: bool = False) -> None:
        [self[name]] = values


@dataclass(frozen=True)
class Prepared:
    """A bound query, its columns and parameters as a client hears of them."""

    plan: LogicalPlan
    columns: tuple[ResultField, ...]
    parameters: tuple[SqlType, ...]
    settings: tuple[SetConfig, ...]


class Asked:
    """Runs queries over the catalog and gives rows as tuples."""

    def __init__(self, directory: Path) -> None:
        self.settings = FakeSettings(SETTINGS)
        self._engines = QueryEngines(directory)
        self._runner = BatchRunner(
            cast(OwnChanges, SimpleNamespace(changed_tables=frozenset())),
            self._engines,
            lambda: StatementLimits(1 << 30),
            lambda snapshot: StateRows(lambda: STATE),
        )

    def prepare(self, sql: str, oids: Sequence[int] = ()) -> Prepared:
        [parsed] = parse(sql)
        assert isinstance(parsed.statement, Select)
        session = SessionValues(process_id=42, setting=lambda name: self.settings.get(name.lower()))
        types = [type_by_oid(oid) or UNKNOWN for oid in oids]
        bound = bind_query(parsed.statement.query, CATALOG, ("public",), types, session=session)
        columns = result_fields(bound.shown_fields)
        return Prepared(optimize(bound.plan), columns, bound.parameter_types, bound.settings)

    def execute(self, query: Prepared, parameters: Sequence[object]) -> pa.Table:
        """The rows; set_config has set what it is to."""
        set_settings(cast(StatementContext, self), query.settings, parameters)
        snapshot = cast(CommittedSnapshot, SimpleNamespace(catalog=CATALOG, view=HeldView()))
        return self._runner.to_table(PreparedQuery(query.plan, CATALOG), parameters, lambda _: snapshot)

    def rows(self, sql: str, *parameters: object) -> list[tuple[object, ...]]:
        return [tuple(row.values()) for row in self.execute(self.prepare(sql), parameters).to_pylist()]

    def value(self, sql: str, *parameters: object) -> object:
        [row] = self.rows(sql, *parameters)
        [value] = row
        return value

    def close(self) -> None:
        self._engines.close()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    made = Asked(tmp_path)
    yield made
    made.close()
