"""SELECT … FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE and FOR KEY SHARE, [OF table, …] [NOWAIT | SKIP LOCKED].

    SELECT a FROM t WHERE b > 3 ORDER BY c LIMIT 2 FOR UPDATE

A query of the keys comes first: `SELECT t.key FROM t WHERE b > 3 ORDER BY c LIMIT 2`. The rows of these keys are
locked, as an UPDATE by key locks them, and the query is asked again: others may have changed rows before the lock was
there. When it has no new key any more, the SELECT itself is answered. A table without a key of its own, and one of
which very many rows are asked, is locked as a whole. All locks go with the transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from risingpy.batch import PreparedQuery
from risingpy.errors import FeatureNotSupported, LockNotAvailable, SqlError, UndefinedTable, WrongObjectType
from risingpy.frontend.binder import bind_query
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement, Query, Select
from risingpy.frontend.results import Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements import select
from risingpy.frontend.statements.rights.checks import check_locks
from risingpy.frontend.statements.writes.rows_by_key import row_keys, with_rows
from risingpy.frontend.statements.writes.skip_locked import key_types, lock_what_is_free, without_known
from risingpy.frontend.written_rows import check_writable
from risingpy.functions.signatures import AGGREGATES
from risingpy.meta.writing.row_keys import MOST_KEYS, RowKey, has_row_keys, in_order
from risingpy.meta.writing.table_locks import LockMode
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Table, View
from risingpy.types import SqlType

_ROUNDS = 10  # so often the keys may change while their locks are waited for, before the whole table is locked
_NOT_WITH = {"group": "GROUP BY clause", "having": "HAVING clause", "distinct": "DISTINCT clause"}


@dataclass(frozen=True, slots=True)
class _Locked:
    """A table whose rows are locked. `keys` is the query of their keys; None: the table is locked as a whole."""

    table: Table
    alias: str
    shared: bool
    waits: bool
    keys: PreparedQuery | None


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Select, parameter_types: Sequence[SqlType]
) -> Command:
    """Without such a clause, the SELECT itself. Outside of a transaction nothing is locked: it would end at once."""
    tree = statement.query.tree
    if not tree.args.get("locks"):
        return select.bind(session, parsed, statement, parameter_types)
    clauses = tree.args["locks"]
    _refuse(tree, clauses[0])
    plain = _without_locks(tree)
    query = Query(plain, statement.query.text, statement.query.position)
    command = select.bind(session, parsed, Select(query), parameter_types)
    locked = [each for clause in clauses for each in _tables(session, plain, clause, query, command.parameter_types)]
    if any(each.args.get("wait") is False for each in clauses):
        return _skipping(session, parsed, query, command, locked)

    def run(parameters: Parameters) -> Result:
        check_writable(session, f"SELECT {_strength(clauses[0])}")
        if session.transaction.is_open and locked:
            session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
            for each in locked:
                _lock(session, each, parameters)
        return command.run(parameters)

    return Command(run, command.fields, command.parameter_types, demands=command.demands)


def _skipping(
    session: StatementContext, parsed: ParsedStatement, query: Query, command: Command, locked: Sequence[_Locked]
) -> Command:
    """SKIP LOCKED. Outside of a transaction the rows are locked only until it is known which are free."""
    if len(locked) != 1 or locked[0].keys is None:
        message = "SKIP LOCKED of anything but one table with a primary key is not supported"
        raise FeatureNotSupported(message, hint="NOWAIT fails instead of waiting.")
    [each] = locked
    table, count = each.table, len(command.parameter_types)
    tree = without_known(query.tree, each.alias, table, count + 1)
    types = [*command.parameter_types, *key_types(table)]
    skipping = Query(tree, query.text, query.position)
    asked = select.bind(session, parsed, Select(skipping), types)
    keys = _keys(session, tree, each.alias, table, skipping, types)
    assert keys is not None

    def run(parameters: Parameters) -> Result:
        check_writable(session, "SELECT FOR UPDATE")
        session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
        try:
            known = lock_what_is_free(session, table, keys, parameters)
        finally:
            session.transaction.release_statement_locks()
        return asked.run((*parameters, *known.values))

    return Command(run, command.fields, command.parameter_types, demands=command.demands)


def _without_locks(tree: exp.Expr) -> exp.Expr:
    copy = tree.copy()
    copy.set("locks", None)
    return copy


def _strength(clause: exp.Expr) -> str:
    key, update = clause.args.get("key"), clause.args.get("update")
    return f"FOR{' NO KEY' if key and update else ' KEY' if key else ''} {'UPDATE' if update else 'SHARE'}"


def _refuse(tree: exp.Expr, clause: exp.Expr) -> None:
    """Raises FeatureNotSupported, as PostgreSQL does, where the rows of the answer are no rows of tables."""
    strength = _strength(clause)
    if not isinstance(tree, exp.Select):
        raise FeatureNotSupported(f"{strength} is not allowed with UNION/INTERSECT/EXCEPT")
    for part, shown in _NOT_WITH.items():
        if tree.args.get(part) is not None:
            raise FeatureNotSupported(f"{strength} is not allowed with {shown}")
    for item in tree.expressions:
        for found in item.find_all(exp.AggFunc, exp.Anonymous, exp.Window):
            if isinstance(found, exp.Anonymous) and str(found.name).lower() not in AGGREGATES:
                continue
            if found.find_ancestor(exp.Select) is tree:
                kind = "window functions" if isinstance(found, exp.Window) else "aggregate functions"
                raise FeatureNotSupported(f"{strength} is not allowed with {kind}")


def _tables(
    session: StatementContext, tree: exp.Expr, clause: exp.Expr, query: Query, types: Sequence[SqlType]
) -> Iterator[_Locked]:
    """The tables that a clause locks: those that OF names, else all of FROM. Raises what PostgreSQL raises."""
    items = [tree.args["from_"].this] if tree.args.get("from_") else []
    items += [join.this for join in tree.args.get("joins") or ()]
    names = {_alias(item): item for item in items}
    wanted = [name_of(each.this) for each in clause.args.get("expressions") or ()]
    for name in wanted:
        if name not in names:
            message = f'relation "{name}" in {_strength(clause)} clause not found in FROM clause'
            raise UndefinedTable(message, position=begin_of(clause.args["expressions"][wanted.index(name)]))
    shared, waits = not clause.args.get("update"), clause.args.get("wait") is None
    with_ = tree.args.get("with_")
    common = set() if with_ is None else {_alias(each) for each in with_.expressions}
    for alias in wanted or names:
        item = names[alias]
        for table in _stored(session, item, common, is_named=bool(wanted)):
            keys = None
            if isinstance(item, exp.Table) and has_row_keys(table) and name_of(item.this) == table.name:
                keys = _keys(session, tree, alias, table, query, types)
            yield _Locked(table, alias, shared, waits, keys)


def _alias(item: exp.Expr) -> str:
    return str(item.alias_or_name)


def _stored(session: StatementContext, item: exp.Expr, common: set[str], *, is_named: bool) -> Iterator[Table]:
    """The tables in an item of FROM: itself, those below a view, those of a subquery."""
    catalog, path = session.database.reads.catalog, session.search_path()
    for tree in item.find_all(exp.Table):
        name, schema = name_of(tree.this), name_of(tree.args.get("db")) or None
        relation = None if schema is None and name in common else catalog.find(name, schema, path)
        if isinstance(relation, Table | View):
            check_locks(session, relation)
        if isinstance(relation, Table):
            yield relation
        elif isinstance(relation, View):
            below = sorted(catalog.tables_below(relation.depends_on))
            yield from (each for each in map(catalog.relations.get, below) if isinstance(each, Table))
        elif relation is not None and (is_named or tree is item):
            message = f'cannot lock rows in {relation.noun} "{relation.name}"'
            raise WrongObjectType(message, position=begin_of(tree))


def _keys(
    session: StatementContext, tree: exp.Expr, alias: str, table: Table, query: Query, types: Sequence[SqlType]
) -> PreparedQuery | None:
    """The query of the keys of an item's rows. None where it cannot be asked: ORDER BY 1 is about the columns."""
    asked = tree.copy()
    names = [table.columns[place].name for place in table.primary_key]
    item = exp.to_identifier(alias, quoted=True)
    columns = [exp.column(exp.to_identifier(name, quoted=True), item.copy()) for name in names]
    asked.set("expressions", columns)
    catalog, path = session.database.reads.catalog, session.search_path()
    try:
        bound = bind_query(
            Query(asked, query.text, query.position), catalog, path, types, session=session.session_values()
        )
    except SqlError:
        return None
    return session.planned(optimize(bound.plan, session.check), catalog)


def _lock(session: StatementContext, locked: _Locked, parameters: Parameters) -> None:
    table, seen = locked.table, set[RowKey]()
    for _ in range(_ROUNDS if locked.keys is not None else 0):
        assert locked.keys is not None
        rows = session.run_to_table(locked.keys, parameters)
        fresh = set(_row_keys(table, rows)) - seen
        if not fresh:
            return
        if len(fresh) > MOST_KEYS:
            break
        _lock_rows(session, locked, in_order(fresh))
        seen |= fresh
        session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)
    mode = LockMode.SHARED if locked.shared else LockMode.ALONE
    try:
        session.transaction.lock(table.relation_id, mode, session.cancelled, wait=locked.waits)
    except LockNotAvailable as error:
        raise _not_obtained(locked, error) from error
    session.database.reads.wait_for_lsn(session.database.writes.last_lsn, session.cancelled)


def _lock_rows(session: StatementContext, locked: _Locked, keys: Sequence[RowKey]) -> None:
    table_id = locked.table.relation_id
    if locked.waits:
        session.transaction.hold_rows(table_id, keys, session.cancelled)
        return
    try:
        session.transaction.take_rows(table_id, keys, session.cancelled)
    except LockNotAvailable as error:
        raise _not_obtained(locked, error) from error


def _not_obtained(locked: _Locked, error: LockNotAvailable) -> LockNotAvailable:
    """PostgreSQL's words for NOWAIT; a `lock_timeout` that has passed says so itself."""
    if locked.waits:
        return error
    return LockNotAvailable(f'could not obtain lock on row in relation "{locked.table.name}"')


def _row_keys(table: Table, rows: pa.Table) -> list[RowKey]:
    """The keys of rows; the rows of an outer join that have none are left out."""
    return row_keys(table, with_rows(table, rows.rename_columns([f"c{place}" for place in table.primary_key])))
