"""A script of statements with a known effect after each, so short that a test can fail every single write of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database

Rows = list[Any]
_TABLE = "CREATE TABLE t (id INT PRIMARY KEY, n INT, name VARCHAR)"
VIEW = "CREATE MATERIALIZED VIEW m AS SELECT n, count(*) AS c, max(id) AS last FROM t GROUP BY n"
_LONG = "x" * 700  # longer than LMDB's keys and a good part of a page


def _change(statement: str) -> Callable[[dict[int, Any]], None]:
    """What a statement of the script does to the rows by id."""
    kind, *rest = statement.split("|")
    numbers = [int(part) for part in rest]

    def insert(rows: dict[int, Any]) -> None:
        first, count, n, *more = numbers
        rows.update({i: [i, n, _LONG if i % 5 == 0 else str(i), *more] for i in range(first, first + count)})

    def update(rows: dict[int, Any]) -> None:
        low, n = numbers
        rows.update({i: [i, n, *row[2:]] for i, row in rows.items() if i >= low})

    def delete(rows: dict[int, Any]) -> None:
        low, high = numbers
        for i in [i for i in rows if low <= i < high]:
            del rows[i]

    def add(rows: dict[int, Any]) -> None:
        rows.update({i: [*row, numbers[0]] for i, row in rows.items()})

    def drop(rows: dict[int, Any]) -> None:
        rows.update({i: row[:-1] for i, row in rows.items()})

    def grow(rows: dict[int, Any]) -> None:
        id_, more = numbers
        rows.update({i: [*row, more] for i, row in rows.items()})
        rows[id_] = [id_, 0, str(id_), more]

    return {"insert": insert, "update": update, "delete": delete, "add": add, "drop": drop, "grow": grow}[kind]


_CHANGES = (
    *("insert|0|3|1", "insert|3|40|2", "update|20|1", "delete|5|15", "insert|10|2|3", "update|0|2"),
    *("insert|100|30|4", "delete|0|60", "insert|1|1|1", "update|110|9", "delete|1|2"),
    *("add|7", "insert|200|4|5|8", "update|120|6", "drop", "insert|300|2|1", "grow|401|8"),
)


def _sql(change: str) -> str:
    kind, *numbers = change.split("|")
    if kind == "insert":
        first, count, n = map(int, numbers[:3])
        more = "".join(f", {number}" for number in numbers[3:])
        values = (f"({i}, {n}, '{_LONG if i % 5 == 0 else i}'{more})" for i in range(first, first + count))
        return f"INSERT INTO t VALUES {', '.join(values)}"
    if kind == "update":
        return f"UPDATE t SET n = {numbers[1]} WHERE id >= {numbers[0]}"
    if kind == "add":
        return f"ALTER TABLE t ADD COLUMN more INT DEFAULT {numbers[0]}"
    if kind == "grow":  # a change of the schema and a row, in one transaction
        row = f"INSERT INTO t VALUES ({numbers[0]}, 0, '{numbers[0]}', {numbers[1]})"
        return f"BEGIN; ALTER TABLE t ADD COLUMN more INT DEFAULT {numbers[1]}; {row}; COMMIT"
    if kind == "drop":
        return "ALTER TABLE t DROP COLUMN more"
    return f"DELETE FROM t WHERE id >= {numbers[0]} AND id < {numbers[1]}"


_SCRIPT = (_TABLE, VIEW, *_CHANGES)
STATEMENTS = tuple(entry if entry.startswith("CREATE") else _sql(entry) for entry in _SCRIPT)


def rows_after(count: int) -> tuple[Rows | None, bool]:
    """The table (None: not there yet) and whether the view is there, after `count` statements."""
    rows: dict[int, Any] = {}
    for entry in _SCRIPT[2:count]:
        _change(entry)(rows)
    return (sorted(rows.values()) if count > 0 else None), count > 1


def view_of(table: Rows) -> Rows:
    """The view's query over the table's rows."""
    counts = Counter(row[1] for row in table)
    return sorted([n, c, max(row[0] for row in table if row[1] == n)] for n, c in counts.items())


def client_of(database: Database) -> Callable[[str], Rows]:
    """Runs a statement in one session, and gives its rows."""
    session = open_session(database, StartupParameters("root", "dev"))

    def run(sql: str) -> Rows:
        rows: Rows = []
        try:
            for statement in session.split(sql):
                result = session.execute(session.prepare(statement, ()), ())
                if result.batches is not None:
                    for batch in result.batches:
                        rows += [list(row) for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
            session.sync()
        except BaseException:
            session.fail()
            raise
        return rows

    return run
