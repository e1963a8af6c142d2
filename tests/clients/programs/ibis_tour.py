"""Ibis: tables, rows, queries, views, the catalog. Arguments: the backend (postgres or risingwave), the port."""

import sys

import ibis
import pandas
from ibis import _

backend, port = sys.argv[1], int(sys.argv[2])
connection = getattr(ibis, backend).connect(host="127.0.0.1", port=port, user="root", database="dev")
assert connection.version
frame = pandas.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "name": ["a", "b", "a", "c"],
        "amount": [1.5, 2.5, 3.5, 0.5],
        "at": pandas.to_datetime(["2024-01-01 10:00", "2024-01-01 11:00", "2024-01-02 10:00", "2024-02-01 00:00"]),
    }
)
sales = connection.create_table("sales", frame, overwrite=True)
assert "sales" in connection.list_tables()
assert sales.schema().names == ("id", "name", "amount", "at"), sales.schema()
assert sales.count().execute() == 4

empty = connection.create_table("empty", schema=ibis.schema({"id": "!int64", "tags": "array<string>", "on": "boolean"}))
assert empty.schema()["tags"].is_array()
connection.insert("empty", pandas.DataFrame({"id": [1, 2], "tags": [["x", "y"], None], "on": [True, False]}))
assert sorted(connection.table("empty").tags.unnest().execute()) == ["x", "y"]

totals = sales.group_by("name").agg(total=_.amount.sum(), n=_.count()).order_by("name")
assert totals.execute().n.tolist() == [2, 1, 1]
ranked = sales.mutate(place=ibis.row_number().over(group_by="name", order_by="at"), day=_.at.date())
assert sorted(ranked.place.execute()) == [0, 0, 0, 1]
joined = sales.join(totals, "name").filter(_.amount > 1).select("id", "total").order_by("id")
assert joined.execute().total.tolist() == [5.0, 2.5, 5.0]
assert sales.at.truncate("M").nunique().execute() == 2
assert sorted(sales.name.fill_null("?").upper().execute()) == ["A", "A", "B", "C"]
assert sales.amount.max().execute() == 3.5
assert sales.select("id", "amount").to_pyarrow().num_rows == 4
if backend == "postgres":  # the other one looks for the temporary view that it makes in the schema public
    assert connection.sql("SELECT id FROM sales WHERE id > 2").count().execute() == 2
assert ibis.memtable(frame).join(sales, "id").count().execute() == 4
assert connection.raw_sql("SELECT 1") is not None

view = connection.create_view("named", totals, overwrite=True)
assert view.count().execute() == 3
connection.create_view("named", totals.filter(_.n > 1), overwrite=True)
assert connection.table("named").count().execute() == 1
connection.drop_view("named")
if backend == "risingwave":
    connection.create_materialized_view("kept", totals, overwrite=True)
    assert connection.table("kept").count().execute() == 3
    connection.drop_materialized_view("kept")
    connection.create_source(
        "ticks",
        schema=ibis.schema({"n": "int64"}),
        connector_properties={"connector": "datagen"},
        data_format="PLAIN",
        encode_format="JSON",
    )
    connection.drop_source("ticks")
else:
    connection.create_database("apart")
    assert "apart" in connection.list_databases()
    connection.create_table("inside", frame, database="apart")
    assert connection.list_tables(database="apart") == ["inside"]
    connection.drop_table("inside", database="apart")
    connection.drop_database("apart")
connection.truncate_table("empty")
assert connection.table("empty").count().execute() == 0
connection.drop_table("sales")
assert "sales" not in connection.list_tables()
connection.disconnect()
