"""ALTER DOMAIN: its default, NOT NULL and its constraints; names, schemas and owners are as those of other types."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

import pyarrow as pa

from risingpy.errors import SqlError, UndefinedObject
from risingpy.frontend.binder import bind_domain_check, bind_domain_default
from risingpy.frontend.binder.query.relations import scan
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.domains import first_refused
from risingpy.frontend.parser.ast import AlterDomain, ParsedStatement
from risingpy.frontend.parser.ast_alter import AddConstraint, DropConstraint, RenameConstraint, ValidateConstraint
from risingpy.frontend.parser.ast_constraints import CheckDefinition
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.user_types.trees import SetDomainDefault, SetDomainNotNull
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_owns_all
from risingpy.frontend.statements.user_types.alter_type import at_name, target_of
from risingpy.meta.schema.objects.domains import (
    DomainChange,
    altered_domain,
    columns_of_domain,
    required_domain,
)
from risingpy.meta.writing.table_locks import LockMode
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import CheckConstraint, DomainDesc, Table
from risingpy.plan.catalog.domains import DomainRules
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Project
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterDomain, parameter_types: Sequence[SqlType]
) -> Command:
    """A new rule is looked at over the rows of all tables, which are locked alone meanwhile, as in ALTER TABLE."""

    def run(parameters: Parameters) -> Result:
        target = target_of(session, statement.name)
        at_name(
            statement.name,
            lambda: check_owns_all(session, lambda state: [required_domain(state, target)]),
        )
        found = required_domain(session.database.reads.seen_state, target)
        change, rule = _change(session, statement, found)
        if change is None:
            return Result(CommandTag("ALTER DOMAIN"))
        if rule is None:
            session.ddl.change(lambda state: altered_domain(state, target, change, None), session.cancelled)
        else:
            with _tables_locked(session, found) as tables:
                _check_rows(session, found, rule)
                session.ddl.change(lambda state: altered_domain(state, target, change, tables), session.cancelled)
        return Result(CommandTag("ALTER DOMAIN"))

    return Command(run)


def _change(
    session: StatementContext, statement: AlterDomain, found: DomainDesc
) -> tuple[DomainChange | None, DomainRules | None]:
    """(What becomes of the domain, None if nothing does; the rule that rows must satisfy first, if there is one)."""
    action = statement.action
    catalog, path, values = session.database.reads.catalog, session.search_path(), session.session_values()
    match action:
        case SetDomainDefault():
            given = action.value
            text = None if given is None else bind_domain_default(given, found.name, found.base, catalog, path, values)
            return lambda domain: replace(domain, default=text), None
        case SetDomainNotNull():
            rule = DomainRules(found.domain, True, ()) if action.not_null and not found.not_null else None
            return lambda domain: replace(domain, not_null=action.not_null), rule
        case AddConstraint():
            definition = action.definition
            assert isinstance(definition, CheckDefinition)
            check = bind_domain_check(definition, found.name, found.base, found.checks, catalog, path, values)
            rule = DomainRules(found.domain, False, (check,)) if check.validated else None
            return lambda domain: replace(domain, checks=(*domain.checks, _named_anew(domain, check))), rule
        case DropConstraint():
            return _dropped(session, found, action), None
        case RenameConstraint():
            old, new = action.name, action.new_name
            _required(found, old)
            return lambda domain: _renamed(domain, old, new), None
        case ValidateConstraint():
            known = _required(found, action.name)
            if known.validated:
                return None, None
            rule = DomainRules(found.domain, False, (known,))
            return lambda domain: _with_check(domain, action.name, replace(known, validated=True)), rule
        case _:
            assert_never(action)


def _named_anew(domain: DomainDesc, check: CheckConstraint) -> CheckConstraint:
    if any(each.name == check.name for each in domain.checks):
        message = f'constraint "{check.name}" for domain "{domain.name}" already exists'
        raise SqlError(message, sqlstate="42710")
    return check


def _dropped(session: StatementContext, found: DomainDesc, action: DropConstraint) -> DomainChange | None:
    name = action.name.name
    if all(each.name != name for each in found.checks):
        if not action.if_exists:
            raise _undefined(found, action.name)
        session.notice(f'constraint "{name}" of domain "{found.name}" does not exist, skipping')
        return None
    return lambda domain: replace(domain, checks=tuple(each for each in domain.checks if each.name != name))


def _renamed(domain: DomainDesc, old: ColumnName, new: ColumnName) -> DomainDesc:
    if any(each.name == new.name for each in domain.checks):
        message = f'constraint "{new.name}" for domain {domain.name} already exists'
        raise SqlError(message, sqlstate="42710", position=new.position)
    return _with_check(domain, old, replace(_required(domain, old), name=new.name))


def _with_check(domain: DomainDesc, name: ColumnName, check: CheckConstraint) -> DomainDesc:
    return replace(domain, checks=tuple(check if each.name == name.name else each for each in domain.checks))


def _required(domain: DomainDesc, name: ColumnName) -> CheckConstraint:
    found = next((each for each in domain.checks if each.name == name.name), None)
    if found is None:
        raise _undefined(domain, name)
    return found


def _undefined(domain: DomainDesc, name: ColumnName) -> UndefinedObject:
    message = f'constraint "{name.name}" of domain "{domain.name}" does not exist'
    return UndefinedObject(message, position=name.position)


@contextmanager
def _tables_locked(session: StatementContext, found: DomainDesc) -> Iterator[Collection[tuple[int, int]]]:
    """Holds the tables with columns of the domain, (id, version) of each, and waits until epochs have their rows."""
    database = session.database
    ids = {table.relation_id for table, _ in columns_of_domain(database.reads.catalog, found.type_id)}
    held = database.writes.locks.held(ids, LockMode.ALONE, session.cancelled, process_id=session.startup.process_id)
    with held:
        database.reads.wait_for_lsn(database.writes.last_lsn, session.cancelled)
        now = {table for table, _ in columns_of_domain(database.reads.catalog, found.type_id)}
        yield {(each.relation_id, each.version) for each in now}


def _check_rows(session: StatementContext, found: DomainDesc, rule: DomainRules) -> None:
    """Raises 23514, or 23502 of NOT NULL, if a row of a table breaks the rule."""
    for table, place in columns_of_domain(session.database.reads.catalog, found.type_id):
        column, plan = table.columns[place], scan(table)
        values = Project(plan, (InputRef(place, column.type),), (plan.schema[place],))
        for batch in session.run_query(session.planned(optimize(values, session.check)), ()):
            if first_refused(session, rule, column, pa.chunked_array([batch.column(0)])) is not None:
                raise _broken(table, column.name, rule)


def _broken(table: Table, column: str, rule: DomainRules) -> SqlError:
    what = "null values" if rule.not_null else "values that violate the new constraint"
    message = f'column "{column}" of table "{table.name}" contains {what}'
    error = SqlError(message, sqlstate="23502" if rule.not_null else "23514")
    error.about = (("s", table.schema_name), ("t", table.name), ("c", column))
    return error
