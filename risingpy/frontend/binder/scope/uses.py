"""What a statement does with each relation that it names, as far as its role must be allowed to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from risingpy.errors import InsufficientPrivilege
from risingpy.plan.catalog import Catalog, DatabaseDesc, ReadColumns, Relation, View
from risingpy.plan.catalog.acl import NOTHING, Privilege
from risingpy.plan.catalog.rights import database_of, may_on_columns, privileges_of, schema_of, securable

_BY_COLUMN = Privilege.SELECT | Privilege.INSERT | Privilege.UPDATE


@dataclass(slots=True, eq=False)
class RelationUse:
    """A relation that a statement names once. `wanted` is what it does with it; the ids are of the columns it names.

    `is_target`: the statement writes to it, and reads it only where it names a column.
    """

    relation: Relation
    wanted: Privilege = Privilege.SELECT
    is_target: bool = False
    read: set[int] = field(default_factory=set)
    inserted: set[int] = field(default_factory=set)
    updated: set[int] = field(default_factory=set)

    def read_column(self, column_id: int) -> None:
        """Notes that the statement reads a column."""
        self.wanted |= Privilege.SELECT
        self.read.add(column_id)

    def columns_of(self, privilege: Privilege) -> frozenset[int]:
        """The columns that it does something with."""
        by = {Privilege.SELECT: self.read, Privilege.INSERT: self.inserted, Privilege.UPDATE: self.updated}
        return frozenset(by[privilege])


def check_uses(catalog: Catalog, role_id: int, uses: Sequence[RelationUse], functions: Iterable[int]) -> None:
    """Raises InsufficientPrivilege (42501) unless a role may do all this, and the owners of views what their views do.

    As in PostgreSQL: what a view reads, its owner reads; the functions that it calls, the role itself calls.
    """
    role = catalog.roles.get(role_id)
    is_superuser = role is not None and role.superuser
    called = list(functions)
    for use in uses:
        if not is_superuser:
            _check_use(catalog, role_id, use)
        if isinstance(use.relation, View):
            called += _checked_view(catalog, use.relation)
    if is_superuser:
        return
    for function_id in dict.fromkeys(called):
        function = catalog.functions[function_id]
        if Privilege.EXECUTE not in privileges_of(catalog, role_id, securable(catalog, function)):
            raise InsufficientPrivilege(f"permission denied for function {function.name}")


def check_reads(catalog: Catalog, role_id: int, reads: Iterable[ReadColumns], functions: Iterable[int]) -> None:
    """As `check_uses`, of what is kept of a query's uses, on a later catalog; what is gone from it does not count."""
    named = ((catalog.get(each.relation_id), each.column_ids) for each in reads)
    uses = [RelationUse(found, read=set(ids)) for found, ids in named if found is not None]
    check_uses(catalog, role_id, uses, (each for each in functions if each in catalog.functions))


def reads_of(uses: Iterable[RelationUse]) -> tuple[ReadColumns, ...]:
    """What is kept of the uses of a view's query."""
    found: dict[int, set[int]] = {}
    for use in uses:
        found.setdefault(use.relation.relation_id, set()).update(use.read)
    return tuple(ReadColumns(relation_id, tuple(sorted(ids))) for relation_id, ids in found.items())


def check_schema(catalog: Catalog, role_id: int | None, schema: str | None, position: int | None) -> None:
    """Raises InsufficientPrivilege if a role may not name anything in a schema."""
    if role_id is None or schema is None or schema not in catalog.schemas:
        return
    if Privilege.USAGE not in privileges_of(catalog, role_id, schema_of(catalog, schema)):
        raise InsufficientPrivilege(f"permission denied for schema {schema}", position=position)


def check_database(catalog: Catalog, role_id: int | None, database: DatabaseDesc) -> None:
    """Raises InsufficientPrivilege if a role may not name anything in another database: it may not connect to it."""
    if role_id is not None and Privilege.CONNECT not in privileges_of(catalog, role_id, database_of(database)):
        raise InsufficientPrivilege(f"permission denied for database {database.name}")


def check_references(catalog: Catalog, role_id: int | None, table: Relation, column_ids: Iterable[int]) -> None:
    """Raises InsufficientPrivilege unless a role may refer to these columns by a foreign key."""
    wanted = Privilege.REFERENCES
    if role_id is not None and not may_on_columns(catalog, role_id, table, wanted, frozenset(column_ids)):
        raise denied(table)


def denied(relation: Relation) -> InsufficientPrivilege:
    """The error for a relation with which a role may not do what it wants."""
    return InsufficientPrivilege(f"permission denied for {relation.noun} {relation.name}")


def _check_use(catalog: Catalog, role_id: int, use: RelationUse) -> None:
    left = use.wanted & ~privileges_of(catalog, role_id, securable(catalog, use.relation))
    if left & ~_BY_COLUMN:
        raise denied(use.relation)
    for privilege in (Privilege.SELECT, Privilege.INSERT, Privilege.UPDATE):
        columns = use.columns_of(privilege)
        if privilege in left and not may_on_columns(catalog, role_id, use.relation, privilege, columns):
            raise denied(use.relation)


def _checked_view(catalog: Catalog, view: View) -> list[int]:
    """The functions that a view calls, and those that it reads, after their owners' rights have been checked."""
    owner = catalog.roles.get(view.owner)
    is_superuser = owner is not None and owner.superuser
    columns = None if view.reads is None else {each.relation_id: each.column_ids for each in view.reads}
    called = list(view.functions)
    for relation_id in view.depends_on:
        relation = catalog.get(relation_id)
        if relation is None:
            continue
        if not is_superuser:
            ids = frozenset(() if columns is None else columns.get(relation_id, ()))
            if columns is None:  # of before there were rights: it may read any column
                ids = frozenset(each.column_id for each in relation.columns)
            if not may_on_columns(catalog, view.owner, relation, Privilege.SELECT, ids):
                raise denied(relation)
        if isinstance(relation, View):
            called += _checked_view(catalog, relation)
    return called


def target_of(uses: Sequence[RelationUse]) -> RelationUse:
    """The relation that a statement writes to."""
    return next(use for use in uses if use.is_target)


def new_target(relation: Relation) -> RelationUse:
    """The use of a relation that a statement is about to write to."""
    return RelationUse(relation, NOTHING, is_target=True)
