"""UPDATE and DELETE … WHERE CURRENT OF cursor: of the row that the cursor has given last.

    DECLARE c CURSOR FOR SELECT name FROM t WHERE n > 3 FOR UPDATE

asks for the keys of its rows, too, in columns that no FETCH shows:

    SELECT name, t.id FROM t WHERE n > 3 FOR UPDATE

and UPDATE t SET … WHERE CURRENT OF c is UPDATE t SET … WHERE t.id = $1, with the key of the row that was fetched last:
it locks that row alone, changes its newest form, and no row if it has gone. As in PostgreSQL, the cursor's query must
read the table itself, without a join unless it is FOR UPDATE or FOR SHARE, and without GROUP BY and its like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from risingpy.errors import SqlError, UndefinedCursor
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser import parse_expression
from risingpy.frontend.parser.ast import Delete, ParsedStatement, Query, Select, Update
from risingpy.frontend.parser.nested_parser import CurrentOf
from risingpy.frontend.portals import CursorScan, Portal
from risingpy.frontend.results import Prepared, Result, Statement
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.prepare import first_row
from risingpy.frontend.statements.writes.rows_by_key import equal_key
from risingpy.plan.catalog import Table
from risingpy.sql_quoting import double_quoted
from risingpy.types import SqlType

W = TypeVar("W", Update, Delete)
_OTHER_ROWS = ("distinct", "group", "having", "with_")  # clauses after which a row is none of a table


# -- DECLARE --------------------------------------------------------------------------------------------------------


def cursor_scan(
    session: StatementContext, statement: Statement, bound: Prepared, oids: Sequence[int]
) -> CursorScan | None:
    """The cursor's query with the keys of its rows; None if it has none that could be told."""
    if not isinstance(statement, ParsedStatement) or not isinstance(statement.statement, Select):
        return None
    query = statement.statement.query
    tree = query.tree.copy()
    if not isinstance(tree, exp.Select) or any(tree.args.get(clause) for clause in _OTHER_ROWS):
        return None
    found = list(_tables(session, tree))
    if not found:
        return None
    for alias, table in found:
        item = exp.to_identifier(alias, quoted=True)
        for name in _key_names(table):
            tree.append("expressions", exp.column(exp.to_identifier(name, quoted=True), item.copy()))
    # Commands are known by their texts: this one is another than that of the query itself.
    text = f"{statement.text} -- with keys"
    asked = ParsedStatement(Select(Query(tree, query.text, query.position)), text, statement.offset)
    try:
        prepared = session.prepare(asked, oids)
    except SqlError:  # of an aggregate without GROUP BY, say, or without the right to read the key
        return None
    tables = tuple((table.relation_id, len(_key_names(table))) for _, table in found)
    return CursorScan(prepared, len(bound.fields or ()), tables, bool(tree.args.get("locks")))


def _tables(session: StatementContext, tree: exp.Select) -> Iterator[tuple[str, Table]]:
    """(The name, the table) of the items of FROM whose rows are locked; without such a clause, of the only item."""
    items = [tree.args["from_"].this] if tree.args.get("from_") else []
    items += [join.this for join in tree.args.get("joins") or ()]
    locks = tree.args.get("locks")
    if not locks and len(items) != 1:
        return
    named = {name_of(each.this) for clause in locks or () for each in clause.args.get("expressions") or ()}
    catalog, path = session.database.reads.catalog, session.search_path()
    for item in items:
        alias = str(item.alias_or_name)
        if isinstance(item, exp.Table) and (alias in named or not named):
            table = catalog.find(name_of(item.this), name_of(item.args.get("db")) or None, path)
            # Beside other items an outer join may have no row of it, which a key that may be NULL does not tell.
            if isinstance(table, Table) and not (table.has_null_keys and len(items) > 1):
                yield alias, table


def _key_names(table: Table) -> list[str]:
    return [table.columns[place].name for place in _key(table)]


def _key(table: Table) -> tuple[int, ...]:
    """Where the columns stand by which a row is known: without a primary key it is the hidden last one."""
    return table.primary_key or (len(table.columns) - 1,)


# -- UPDATE and DELETE ----------------------------------------------------------------------------------------------


def named_cursor(statement: Update | Delete) -> str | None:
    """The cursor that WHERE CURRENT OF names."""
    tree = None if statement.where is None else statement.where.tree
    return str(tree.this) if isinstance(tree, CurrentOf) else None


def of_current(
    session: StatementContext,
    name: str,
    statement: W,
    parameter_types: Sequence[SqlType],
    bind: Callable[[W, Sequence[SqlType]], Command],
) -> Command:
    """The statement on the row of the cursor, which is found when it runs.

    Raises 34000 without the cursor, and 24000 if it is on no row, or its rows are none of the table's.
    """
    whole: Command = bind(replace(statement, where=None), parameter_types)
    count, where = len(whole.parameter_types), statement.where
    catalog, target = session.database.reads.catalog, statement.table
    found = catalog.find(target.name, target.schema, session.search_path())
    assert isinstance(found, Table) and where is not None  # or `bind` would have raised an error
    table: Table = found
    item = double_quoted(statement.alias or table.name)
    text = " AND ".join(
        equal_key(table, place, f"{item}.{double_quoted(table.columns[place].name)}", f"${number}")
        for number, place in enumerate(_key(table), count + 1)
    )
    condition = replace(parse_expression(text), position=where.position)
    types = [*whole.parameter_types, *(table.columns[place].type for place in _key(table))]
    of_key = bind(replace(statement, where=condition), types)

    def run(parameters: Parameters) -> Result:
        return of_key.run((*parameters, *_current_key(session, name, table)))

    return Command(run, of_key.fields, whole.parameter_types, demands=of_key.demands)


def _current_key(session: StatementContext, name: str, table: Table) -> tuple[object | None, ...]:
    portal = session.portals.get(name)
    if portal is None:
        raise UndefinedCursor(f'cursor "{name}" does not exist')
    if session.portals.is_held(name):
        raise _no_position(f'cursor "{name}" is held from a previous transaction')
    portal.settle()
    first = _place_of_key(portal, name, table)
    if portal.rows is None or not portal.rows.is_on_row or portal.last_row is None:
        raise _no_position(f'cursor "{name}" is not positioned on a row')
    return first_row(portal.last_row.select(range(first, first + len(_key(table)))))


def _place_of_key(portal: Portal, name: str, table: Table) -> int:
    """Where the key of the table's row begins in the cursor's rows."""
    scan = portal.scan
    places, place = list[int](), 0 if scan is None else scan.visible
    for table_id, width in () if scan is None else scan.tables:
        places += [place] if table_id == table.relation_id else []
        place += width
    if scan is not None and scan.locks and len(places) != 1:
        what = "has multiple FOR UPDATE/SHARE references" if places else "does not have a FOR UPDATE/SHARE reference"
        raise _no_position(f'cursor "{name}" {what} to table "{table.name}"')
    if len(places) != 1:
        raise _no_position(f'cursor "{name}" is not a simply updatable scan of table "{table.name}"')
    return places[0]


def _no_position(message: str) -> SqlError:
    return SqlError(message, sqlstate="24000")
