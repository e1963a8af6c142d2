"""What a statement that is no query must be allowed to do: create, alter and drop, and follow changes."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.errors import InsufficientPrivilege
from risingpy.frontend.binder.scope.uses import check_schema, denied
from risingpy.frontend.statement_context import StatementContext
from risingpy.plan.catalog import (
    ConnectionDesc,
    FunctionDesc,
    InternalTable,
    Relation,
    SecretDesc,
)
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import database_of, owns, privileges_of, schema_of, securable

Owned = Relation | FunctionDesc | SecretDesc | ConnectionDesc


def check_names_schema(session: StatementContext, schema: str | None, position: int | None) -> None:
    """Raises InsufficientPrivilege if the session may not name anything in a schema."""
    check_schema(session.database.reads.catalog, session.identity.current_id, schema, position)


def check_creates_in(session: StatementContext, schema: str, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may create in a schema; what is missing is not its concern."""
    catalog, role = session.database.reads.catalog, session.identity.current_id
    if schema in catalog.schemas and Privilege.CREATE not in privileges_of(catalog, role, schema_of(catalog, schema)):
        raise InsufficientPrivilege(f"permission denied for schema {schema}", position=position)


def check_creates_schemas(session: StatementContext) -> None:
    """Raises InsufficientPrivilege unless the session may create schemas."""
    catalog = session.database.reads.catalog
    if Privilege.CREATE not in privileges_of(catalog, session.identity.current_id, database_of(catalog.own_database)):
        raise InsufficientPrivilege(f"permission denied for database {catalog.database}")


def check_owns(session: StatementContext, found: Owned, position: int | None = None) -> None:
    """Raises InsufficientPrivilege unless the session may do what only the owner of an object may."""
    catalog, owner = session.database.reads.catalog, found.owner
    if isinstance(found, InternalTable):
        owner = catalog.relations[found.job_id].owner if found.job_id in catalog.relations else owner
    if not owns(catalog, session.identity.current_id, owner):
        noun = "function" if isinstance(found, FunctionDesc) else found.noun
        raise InsufficientPrivilege(f"must be owner of {noun} {found.name}", position=position)


def check_drops(session: StatementContext, found: Sequence[Owned]) -> None:
    """Raises InsufficientPrivilege unless the session owns the objects, or the schemas that they are in."""
    catalog, role = session.database.reads.catalog, session.identity.current_id
    for each in found:
        if not owns(catalog, role, catalog.schema_owner(each.schema_name)):
            check_owns(session, each)


def check_owns_schema(session: StatementContext, name: str) -> None:
    """Raises InsufficientPrivilege unless the session owns a schema; one that is missing is not its concern."""
    catalog = session.database.reads.catalog
    if name in catalog.schemas and not owns(catalog, session.identity.current_id, catalog.schema_owner(name)):
        raise InsufficientPrivilege(f"must be owner of schema {name}")


def check_allowed(
    session: StatementContext, relation: Relation, wanted: Privilege, *, any_of_them: bool = False
) -> None:
    """Raises InsufficientPrivilege unless the session may do all this with a relation, or any of it."""
    catalog, role = session.database.reads.catalog, session.identity.current_id
    found = privileges_of(catalog, role, securable(catalog, relation)) & wanted
    if not (found if any_of_them else found == wanted):
        raise denied(relation)


def check_indexes(session: StatementContext, relation: Relation) -> None:
    """Raises InsufficientPrivilege unless the session owns what an index is to be on, and may create in its schema."""
    check_owns(session, relation)
    check_creates_in(session, relation.schema_name)
