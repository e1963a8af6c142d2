"""What binder and batch tests run on: a catalog with a few tables of rows, answered by DuckDB, and by PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from risingpy.batch.sql import to_duckdb_sql
from risingpy.frontend.binder import bind_query, bind_table
from risingpy.frontend.binder.query.query import BoundQuery
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.ast import CreateTable, CreateView, Select
from risingpy.functions.evaluation.duckdb_connection import connect, translate_error
from risingpy.functions.evaluation.duckdb_functions import OwnFunctions
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog, ColumnDesc, CreatedRelation, Table, View
from risingpy.plan.expressions import Expr
from risingpy.plan.logical import LogicalPlan, Scan, SystemScan
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, SqlType
from risingpy.types.forms import format_text, parse_text

SCHEMA = """
create table t (a int, b bigint, c numeric(10,2), d varchar, e double precision, f boolean);
create table u (id int primary key, a int, name varchar(10) not null default 'none', at timestamp);
create table types (i2 smallint, i4 int, i8 bigint, r real, dp double precision, n numeric(12,3), p numeric, s varchar,
    by bytea, da date, ti time, ts timestamp, tz timestamp with time zone, iv interval, bo boolean);
create view v as select a, count(*) as n from t group by a;
"""

ROWS: dict[str, list[tuple[str | None, ...]]] = {
    "t": [
        ("1", "10", "1.50", "one", "0.5", "t"),
        ("2", "20", "2.25", "two", "1.5", "f"),
        ("2", "30", "-3.75", "Two", None, None),
        ("3", None, None, None, "2.5", "t"),
        (None, "50", "0.00", "", "-1", "f"),
    ],
    "u": [
        ("1", "1", "x", "2024-01-31 10:00:00"),
        ("2", "2", "yy", "2024-02-29 23:59:59.5"),
        ("3", "2", "none", None),
        ("4", "9", "Z", "1999-12-31 00:00:00"),
    ],
    "types": [
        (
            *("1", "-2", "9000000000", "1.5", "2.25", "123.456", "1e-10", "text", "\\x00ff", "2024-02-29"),
            *("12:34:56.789", "2024-02-29 12:34:56", "2024-02-29 12:34:56+02", "1 mon 2 days 03:04:05", "t"),
        ),
        (None,) * 15,
    ],
}


def make_catalog(sql: str = SCHEMA) -> Catalog:
    relations: dict[int, CreatedRelation] = {}
    for parsed in parse(sql):
        relation_id = len(relations) + 1
        statement = parsed.statement
        if isinstance(statement, CreateTable):
            table = bind_table(statement)
            columns = table.columns
            if not table.primary_key:
                columns += (ColumnDesc(len(columns) + 1, "_row_id", BIGINT, True, True),)
            key = table.primary_key or (len(columns) - 1,)
            name = statement.name.name
            stored = relation_table(relation_id, name, columns, tuple(map(KeyColumn, key)), key)
            relations[relation_id] = Table(
                relation_id,
                "public",
                name,
                columns,
                parsed.text,
                primary_key=table.primary_key,
                stream_key=key,
                table=stored,
                append_only=statement.append_only,
            )
        else:
            assert isinstance(statement, CreateView)
            bound = bind_query(statement.query, Catalog(relations=relations), ("public",))
            columns = tuple(ColumnDesc(i, f.name, f.type) for i, f in enumerate(bound.fields, 1))
            query = statement.query.text
            relations[relation_id] = View(relation_id, "public", statement.name.name, columns, parsed.text, query=query)
    return Catalog(relations=relations)


CATALOG = make_catalog()


def bind(sql: str, parameter_types: Sequence[SqlType] = (), catalog: Catalog = CATALOG) -> BoundQuery:
    (parsed,) = parse(sql)
    assert isinstance(parsed.statement, Select)
    return bind_query(parsed.statement.query, catalog, ("public",), parameter_types)


def expression(sql: str, parameter_types: Sequence[SqlType] = ()) -> Expr:
    """The expression of a one-column SELECT."""
    plan = bind(f"select {sql} from t", parameter_types).plan
    return plan.expressions[0]  # type: ignore[union-attr]


def type_of(sql: str) -> str:
    return str(bind(f"select {sql} as x from t").fields[0].type)


def relation_rows(relation: CreatedRelation) -> pa.Table:
    rows = ROWS.get(relation.name, [])
    arrays = []
    for i, column in enumerate(relation.columns):
        if column.hidden:
            values: list[object] = list(range(1, len(rows) + 1))
        else:
            values = [None if row[i] is None else parse_text(column.type, str(row[i])) for row in rows]
        arrays.append(pa.array(values, column.type.arrow))
    return pa.Table.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])


def run(plan: LogicalPlan, *, rules: bool = True, catalog: Catalog = CATALOG) -> list[tuple[str | None, ...]]:
    """The plan's rows as PostgreSQL would show them."""
    connection = connect()
    names: list[str] = []

    def scan_name(scan: Scan | SystemScan) -> str:
        assert isinstance(scan, Scan)
        table = relation_rows(catalog.relations[scan.relation_id]).select([f"c{i}" for i in scan.columns])
        names.append(f"scan{len(names)}")
        connection.register(names[-1], table.rename_columns([f"c{i}" for i in range(len(scan.columns))]))
        return names[-1]

    if rules:
        plan = optimize(plan)
    sql = to_duckdb_sql(plan, scan_name).text
    OwnFunctions(connection).make_known(sql)
    try:
        rows = connection.sql(sql).to_arrow_table()
    except duckdb.Error as error:
        raise translate_error(error) from error
    columns = [rows.column(i).cast(f.type.arrow).to_pylist() for i, f in enumerate(plan.schema)]
    texts = [
        [None if value is None else format_text(field.type, value) for value in column]
        for field, column in zip(plan.schema, columns, strict=True)
    ]
    return list(zip(*texts, strict=True))
