"""What a statement that is no query must be allowed to do: create, alter and drop, and follow changes.

Each of them is asked now, and again of the state that the statement's change changes (`Demands`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.binder import BoundQuery
from risingpy.frontend.binder.scope import uses
from risingpy.frontend.binder.scope.uses import check_schema, denied
from risingpy.frontend.statement_context import StatementContext
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import (
    Catalog,
    CompositeDesc,
    ConnectionDesc,
    DomainDesc,
    DomainType,
    EnumDesc,
    FunctionDesc,
    InternalTable,
    Relation,
    SecretDesc,
    Table,
    UserType,
    View,
)
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import database_of, may_on_columns, owns, privileges_of, schema_of, securable, type_of
from risingpy.types import SqlType
from risingpy.types.type_entries import TYPES_BY_OID

Owned = Relation | FunctionDesc | UserType | SecretDesc | ConnectionDesc


def check_names_schema(session: StatementContext, schema: str | None, position: int | None) -> None:
    """Raises InsufficientPrivilege if the session may not name anything in a schema."""
    if schema != session.temporaries.schema:
        check_schema(session.database.reads.catalog, session.identity.current_id, schema, position)


def check_creates_in(session: StatementContext, schema: str, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may create in a schema; what is missing is not its concern."""
    if schema == session.temporaries.schema:
        check_creates_temporary(session, position)
        return
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        place = schema_of(state.catalog, schema)
        if schema in state.catalog.schemas and Privilege.CREATE not in privileges_of(state.catalog, role, place):
            raise InsufficientPrivilege(f"permission denied for schema {schema}", position=position)

    session.demands.ask(demand)


def check_creates_temporary(session: StatementContext, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may create temporary relations."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        here = state.catalog.own_database
        if Privilege.TEMPORARY not in privileges_of(state.catalog, role, database_of(here)):
            message = f'permission denied to create temporary tables in database "{here.name}"'
            raise InsufficientPrivilege(message, position=position)

    session.demands.ask(demand)


def check_creates_schemas(session: StatementContext) -> None:
    """Raises InsufficientPrivilege unless the session may create schemas."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        here = state.catalog.own_database
        if Privilege.CREATE not in privileges_of(state.catalog, role, database_of(here)):
            raise InsufficientPrivilege(f"permission denied for database {here.name}")

    session.demands.ask(demand)


def check_owns(session: StatementContext, found: Owned, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may do what only the owner of an object may."""
    check_owns_all(session, lambda state: [_newest(state.catalog, found)], position)


def check_owns_all(
    session: StatementContext, find: Callable[[MetaState], Iterable[Owned]], position: int | None = None
) -> None:
    """As `check_owns` of each object that `find` gives: of those that have the names of a statement at that time."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        for each in find(state):
            _check_owner(state.catalog, role, each, position)

    session.demands.ask(demand)


def check_drops(session: StatementContext, find: Callable[[MetaState], Sequence[Owned]]) -> None:
    """Raises InsufficientPrivilege unless the session owns the objects, or the schemas that they are in."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        for each in find(state):
            if not owns(state.catalog, role, state.catalog.schema_owner(each.schema_name)):
                _check_owner(state.catalog, role, each, None)

    session.demands.ask(demand)


def check_owns_schema(session: StatementContext, name: str) -> None:
    """Raises InsufficientPrivilege unless the session owns a schema; one that is missing is not its concern."""
    role = session.identity.current_id

    def demand(state: MetaState) -> None:
        catalog = state.catalog
        if name in catalog.schemas and not owns(catalog, role, catalog.schema_owner(name)):
            raise InsufficientPrivilege(f"must be owner of schema {name}")

    session.demands.ask(demand)


def check_uses_types(session: StatementContext, types: Iterable[SqlType | DomainType]) -> None:
    """Raises InsufficientPrivilege unless the session has USAGE of the types; an array's is that of its elements.

    What is of a domain needs the right on the domain alone.
    """
    role = session.identity.current_id
    leaves = {leaf.oid: leaf for each in types for leaf in _leaves(each)}

    def demand(state: MetaState) -> None:
        catalog = state.catalog
        for oid, leaf in leaves.items() if catalog.types or catalog.own_database.type_acls else ():
            created = catalog.types.get(oid)
            if created is None and isinstance(leaf, DomainType):  # which is gone: the change itself says so
                continue
            on = type_of(catalog, TYPES_BY_OID[oid].name) if created is None else securable(catalog, created)
            if Privilege.USAGE not in privileges_of(catalog, role, on):
                raise InsufficientPrivilege(f"permission denied for type {leaf.name}")

    session.demands.ask(demand)


def check_reads(session: StatementContext, query: BoundQuery) -> None:
    """Raises InsufficientPrivilege unless the session may read what a query reads, also for what is to be created."""
    role = session.identity.current_id
    session.demands.ask(lambda state: uses.check_reads(state.catalog, role, query.reads, query.functions))


def check_allowed(
    session: StatementContext, relation: Relation, wanted: Privilege, *, any_of_them: bool = False
) -> None:
    """Raises InsufficientPrivilege unless the session may do all this with a relation, or any of it, now."""
    catalog, role = session.database.reads.catalog, session.identity.current_id
    _check_allowed(catalog, role, relation, wanted, any_of_them=any_of_them)


def check_locks(session: StatementContext, relation: Table | View) -> None:
    """Raises InsufficientPrivilege unless the session may lock rows: it has UPDATE, if only of one column.

    As in PostgreSQL: the rows below a view are locked for its owner, who needs the same right.
    """
    _check_locks(session.database.reads.catalog, session.identity.current_id, relation)


def _check_locks(catalog: Catalog, role_id: int, relation: Table | View) -> None:
    if not may_on_columns(catalog, role_id, relation, Privilege.UPDATE, frozenset()):
        raise denied(relation)
    if isinstance(relation, View):
        for found in map(catalog.relations.get, relation.depends_on):
            if isinstance(found, Table | View):
                _check_locks(catalog, relation.owner, found)


def check_follows(session: StatementContext, relation: Relation, wanted: Privilege) -> None:
    """As `check_allowed`, also for what is to be created."""
    role, relation_id = session.identity.current_id, relation.relation_id

    def demand(state: MetaState) -> None:
        _check_allowed(state.catalog, role, state.catalog.relations.get(relation_id, relation), wanted)

    session.demands.ask(demand)


def check_indexes(session: StatementContext, relation: Relation) -> None:
    """Raises InsufficientPrivilege unless the session owns what an index is to be on, and may create in its schema."""
    check_owns(session, relation)
    check_creates_in(session, relation.schema_name)


def _newest(catalog: Catalog, found: Owned) -> Owned:
    """The object as the catalog has it; one that is gone as it was: the change itself says so."""
    match found:
        case FunctionDesc():
            return catalog.functions.get(found.function_id, found)
        case EnumDesc() | DomainDesc() | CompositeDesc():
            return catalog.types.get(found.type_id, found)
        case SecretDesc():
            return catalog.secrets.get(found.secret_id, found)
        case ConnectionDesc():
            return catalog.connections.get(found.connection_id, found)
        case _:
            return catalog.relations.get(found.relation_id, found)


def _check_owner(catalog: Catalog, role: int, found: Owned, position: int | None) -> None:
    owner = found.owner
    if isinstance(found, InternalTable):
        owner = catalog.relations[found.job_id].owner if found.job_id in catalog.relations else owner
    if not owns(catalog, role, owner):
        noun = "function" if isinstance(found, FunctionDesc) else found.noun
        raise InsufficientPrivilege(f"must be owner of {noun} {found.name}", position=position)


def _check_allowed(
    catalog: Catalog, role: int, relation: Relation, wanted: Privilege, *, any_of_them: bool = False
) -> None:
    found = privileges_of(catalog, role, securable(catalog, relation)) & wanted
    if not (found if any_of_them else found == wanted):
        raise denied(relation)


def _leaves(sql_type: SqlType | DomainType) -> Iterable[SqlType | DomainType]:
    if isinstance(sql_type, DomainType) or sql_type.composite is not None:
        return (sql_type,)
    if not sql_type.items:
        return (sql_type,)
    return (leaf for item in sql_type.items for leaf in _leaves(item))
