"""CREATE DOMAIN and ALTER DOMAIN, as functions from one `MetaState` to the next.

The rules stand in the catalog alone. A change of rules gives new `rules` to the tables that have columns of the domain:
statements that were planned under the old ones are planned again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from risingpy.errors import FeatureNotSupported, SerializationFailure, UndefinedObject, WrongObjectType
from risingpy.meta.schema.altered_table import with_new_rules
from risingpy.meta.schema.objects.user_types import TypeTarget, check_new_type_name, required, with_type
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.plan.catalog import Catalog, CreatedRelation, DomainDesc, Table
from risingpy.plan.catalog.domains import domains_over
from risingpy.plan.domain_casts import domain_of_cast
from risingpy.plan.enum_forms import parts_of
from risingpy.plan.expressions import Call

DomainChange = Callable[[DomainDesc], DomainDesc]
"""What an ALTER DOMAIN makes of a domain as it is when the change is applied. Raises SqlError."""


def required_domain(state: MetaState, target: TypeTarget) -> DomainDesc:
    """The domain. Raises UndefinedObject, and WrongObjectType for a type of another kind."""
    found = required(state, target)
    if not isinstance(found, DomainDesc):
        raise WrongObjectType(f'"{target.shown}" is not a domain')
    return found


def add_domain(state: MetaState, new: DomainDesc) -> MetaState:
    """`state` with the domain, which gets its ids. Raises 42710 if there is a type of that name."""
    check_new_type_name(state, new.schema_name, new.name)
    if new.parent is not None and new.parent.oid not in state.catalog.types:
        raise UndefinedObject(f'type "{new.parent.name}" does not exist')
    allocate = IdAllocator(state.next_id)
    ids = allocate(), allocate()
    made = replace(new, type_id=ids[0], array_id=ids[1], database_id=state.catalog.database_id)
    made = _numbered(made, allocate)
    return with_type(replace(state, next_id=allocate.next_id), made)


def altered_domain(
    state: MetaState, target: TypeTarget, change: DomainChange, looked_at: Collection[tuple[int, int]] | None
) -> MetaState:
    """`state` in which the domain is as `change` makes it.

    `looked_at` are the tables (id, version) whose rows satisfy a new rule; None: no rule is stricter than before.
    Raises SerializationFailure if another table has got a column of the domain since then, and FeatureNotSupported if a
    job or a view casts to the domain: what it has computed stands by the rules of then.
    """
    found = required_domain(state, target)
    changed = change(found)
    if changed == found:
        return state
    if (changed.not_null, changed.checks) != (found.not_null, found.checks):
        _refuse_casts(state, found)
    tables = [table for table, _ in columns_of_domain(state.catalog, found.type_id)]
    if looked_at is not None and not {(each.relation_id, each.version) for each in tables} <= set(looked_at):
        message = f'tables with columns of domain "{found.name}" were changed meanwhile'
        raise SerializationFailure(message, hint="Run the statement again.")
    allocate = IdAllocator(state.next_id)
    changed = _numbered(changed, allocate)
    state = with_type(replace(state, next_id=allocate.next_id), changed)
    return with_new_rules(state, {each.relation_id for each in tables})


def columns_of_domain(catalog: Catalog, oid: int) -> Iterator[tuple[Table, int]]:
    """The tables that have columns of a domain, or of one over it, with the columns' positions."""
    domains = domains_over(oid, catalog.types)
    for relation in catalog.relations.values():
        if isinstance(relation, Table):
            for place, column in enumerate(relation.columns):
                if column.domain is not None and column.domain.oid in domains:
                    yield relation, place


def _refuse_casts(state: MetaState, found: DomainDesc) -> None:
    domains = domains_over(found.type_id, state.catalog.types)
    for relation in state.catalog.relations.values():
        job = state.jobs.get(relation.relation_id) or state.stopped.get(relation.relation_id)
        if any(isinstance(part, Call) and domain_of_cast(part) in domains for part in parts_of((relation, job))):
            raise _casts(relation, found)


def _casts(relation: CreatedRelation, found: DomainDesc) -> FeatureNotSupported:
    message = f'cannot change the rules of domain {found.name}: {relation.noun} "{relation.name}" casts values to it'
    return FeatureNotSupported(message, hint="Drop it, alter the domain, and create it again.")


def _numbered(domain: DomainDesc, allocate: IdAllocator) -> DomainDesc:
    """The domain with ids for its new checks."""
    checks = (each if each.constraint_id else replace(each, constraint_id=allocate()) for each in domain.checks)
    return replace(domain, checks=tuple(checks))
