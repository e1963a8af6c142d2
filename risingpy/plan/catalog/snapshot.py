"""The catalog at one version: an immutable snapshot that a statement is bound and planned against.

The meta service (`meta/durable_state.py`) keeps the newest one, and replaces it between epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, TypeVar

from risingpy.errors import SqlError
from risingpy.plan.catalog.acl import ServerAcls
from risingpy.plan.catalog.comments import CommentDesc
from risingpy.plan.catalog.constraints import ForeignKey
from risingpy.plan.catalog.databases import (
    DEFAULT_DATABASE_ID,
    FIRST_DATABASES,
    DatabaseDesc,
)
from risingpy.plan.catalog.functions import FunctionDesc
from risingpy.plan.catalog.relations import (
    CreatedRelation,
    ExternalSource,
    Index,
    IndexedRelation,
    InternalTable,
    Relation,
    Sink,
    Table,
)
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID, FIRST_ROLES, Role, roles_of
from risingpy.plan.catalog.secrets import ConnectedRelation, ConnectionDesc, SecretDesc, resolved
from risingpy.plan.catalog.sequences import NumberSequence
from risingpy.plan.catalog.temporary import OWN_TEMPORARY_SCHEMA, is_temporary_schema
from risingpy.plan.catalog.user_types import UserType
from risingpy.types import SqlType, array_of

Named = TypeVar("Named")
INTERNAL_PREFIX = "__internal_"  # of the names of state tables


@dataclass(frozen=True)
class Catalog:
    """All relations of all databases at one version, as one of the databases sees them.

    What has an id is found by it in whatever database it is. Names are those of the database `database_id`, as are
    `schemas` and what the methods `own_…` give. `internal_tables`, by id, are the jobs' state tables: queries may name
    them, and nothing else may. `roles` and `databases` are by id.

    Lookups by name and by upstream go through maps, which a catalog makes when it is first asked. The class has no
    `__slots__` because `cached_property` keeps the maps in the instance's `__dict__`.
    """

    version: int = 0
    database_id: int = DEFAULT_DATABASE_ID
    databases: Mapping[int, DatabaseDesc] = field(default_factory=lambda: FIRST_DATABASES)
    relations: Mapping[int, CreatedRelation] = field(default_factory=dict)
    internal_tables: Mapping[int, InternalTable] = field(default_factory=dict)
    functions: Mapping[int, FunctionDesc] = field(default_factory=dict)
    types: Mapping[int, UserType] = field(default_factory=dict)
    secrets: Mapping[int, SecretDesc] = field(default_factory=dict)
    connections: Mapping[int, ConnectionDesc] = field(default_factory=dict)
    roles: Mapping[int, Role] = field(default_factory=lambda: dict(FIRST_ROLES))
    comments: Mapping[int, CommentDesc] = field(default_factory=dict)
    server_acls: ServerAcls = field(default_factory=ServerAcls)

    @property
    def database(self) -> str:
        """The name of the database."""
        return self.databases[self.database_id].name

    @property
    def schemas(self) -> tuple[str, ...]:
        """The database's schemas, but for those of the system."""
        return self.databases[self.database_id].schemas

    def database_named(self, name: str) -> DatabaseDesc | None:
        """The database of that name."""
        return next((each for each in self.databases.values() if each.name == name), None)

    def seen_from(self, database_id: int) -> Catalog:
        """The same catalog, as another database sees it. Raises SqlError (3D000) if it is gone."""
        if database_id == self.database_id:
            return self
        if database_id not in self.databases:
            raise SqlError("the database of this session was dropped", sqlstate="3D000")
        return self._seen.get(database_id) or self._seen.setdefault(database_id, replace(self, database_id=database_id))

    @cached_property
    def _seen(self) -> dict[int, Catalog]:
        """By id, what other databases see, once asked for: so each has its maps of names made once, too."""
        return {}

    def with_database(self, changed: DatabaseDesc) -> Catalog:
        """The next version, in which a database is as given."""
        return replace(self, version=self.version + 1, databases={**self.databases, changed.database_id: changed})

    @property
    def own_database(self) -> DatabaseDesc:
        return self.databases[self.database_id]

    @cached_property
    def own_relations(self) -> Sequence[CreatedRelation]:
        """The relations of the database."""
        return tuple(_own(self.relations, self))

    @cached_property
    def being_created(self) -> Sequence[CreatedRelation]:
        """The relations that `is_being_created` says it of: asked for eight times in an epoch, and mostly none."""
        return tuple([relation for relation in self.relations.values() if relation.is_being_created])

    @cached_property
    def own_functions(self) -> Sequence[FunctionDesc]:
        """The functions of the database."""
        return tuple(_own(self.functions, self))

    @cached_property
    def own_types(self) -> Sequence[UserType]:
        """The types that users have created in the database."""
        return tuple(_own(self.types, self))

    @cached_property
    def own_secrets(self) -> Sequence[SecretDesc]:
        """The secrets of the database."""
        return tuple(_own(self.secrets, self))

    @cached_property
    def own_connections(self) -> Sequence[ConnectionDesc]:
        """The connections of the database."""
        return tuple(_own(self.connections, self))

    @cached_property
    def own_internal_tables(self) -> Sequence[InternalTable]:
        """The state tables of the database's jobs."""
        return tuple(_own(self.internal_tables, self))

    def role_named(self, name: str) -> Role | None:
        """The user or group of that name."""
        return self._roles_by_name.get(name)

    def has_role(self, member: int, role_id: int) -> bool:
        """Whether one role may act as the other: it is the same, a member of it, or a superuser."""
        role = self.roles.get(member)
        if role is None:
            return False
        return role.superuser or role_id in roles_of(self.roles, member)

    def inherited(self, role_id: int) -> frozenset[int]:
        """The roles whose rights a role has without SET ROLE, itself among them."""
        found = self._inherited.get(role_id)
        if found is None:
            found = self._inherited[role_id] = roles_of(self.roles, role_id, inherited_only=True)
        return found

    @cached_property
    def _inherited(self) -> dict[int, frozenset[int]]:
        """What `inherited` has found out."""
        return {}

    def schema_owner(self, schema: str) -> int:
        """The id of the role that owns a schema of the database."""
        return self.own_database.schema_owners.get(schema, BOOTSTRAP_ROLE_ID)

    @cached_property
    def has_passwords(self) -> bool:
        """Whether some user can log in with a password."""
        return any(role.login and role.secret is not None for role in self.roles.values())

    @cached_property
    def _roles_by_name(self) -> Mapping[str, Role]:
        return {role.name: role for role in self.roles.values()}

    def functions_named(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> Sequence[FunctionDesc]:
        """The functions called `name` in `schema`, or in the first schema of the search path that has one."""
        for candidate in (schema,) if schema is not None else search_path:
            found = self._functions_by_name.get((candidate, name))
            if found is not None:
                return found
        return ()

    def find_type(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> UserType | None:
        """As `find`, among the types that users have created."""
        return _named(self._types_by_name, name, schema, search_path)

    def only_types(self) -> Catalog:
        """A catalog with nothing but the types that users have created: for what may name no relation."""
        types = {each.type_id: each for each in self.own_types}
        return Catalog(database_id=self.database_id, databases=self.databases, types=types)

    def type_by_oid(self, oid: int) -> SqlType | None:
        """The type that a user has created and that has this OID, or the one of its arrays."""
        return self._types_by_oid.get(oid)

    def find(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> Relation | None:
        """The relation called `name` in `schema`, or in the first schema of the search path that has it.

        In `pg_temp`: in the session's own temporary schema, which is on its search path.
        """
        places = search_path if schema is None else (schema,)
        if schema == OWN_TEMPORARY_SCHEMA:
            places = tuple(each for each in search_path if is_temporary_schema(each))
        for candidate in places:
            found = self._by_name.get((candidate, name))
            if found is not None:
                return found
        return None

    def get(self, relation_id: int) -> Relation | None:
        """The relation or internal table with this id."""
        return self.relations.get(relation_id) or self.internal_tables.get(relation_id)

    def dependents(self, relation_id: int) -> Sequence[CreatedRelation]:
        """The relations that read `relation_id` directly, each once, in the catalog's order."""
        return self._readers.get(relation_id, ())

    def tables_below(self, relation_ids: Iterable[int]) -> frozenset[int]:
        """The tables whose rows decide what these relations have: themselves, and all from which a job reads."""
        return self.relations_below(relation_ids) & self._table_ids

    def relations_below(self, relation_ids: Iterable[int]) -> frozenset[int]:
        """These relations, and all from which they have their rows, directly or not."""
        found: set[int] = set()
        left = list(relation_ids)
        while left:
            relation = self.get(left.pop())
            if relation is None or relation.relation_id in found:
                continue
            found.add(relation.relation_id)
            if isinstance(relation, InternalTable):
                left.append(relation.job_id)
            else:
                left += [*relation.depends_on, *self.sinks_into(relation.relation_id)]
        return frozenset(found)

    @cached_property
    def _table_ids(self) -> frozenset[int]:
        return frozenset(r.relation_id for r in self.relations.values() if isinstance(r, Table))

    def sinks_into(self, table_id: int) -> Sequence[int]:
        """The ids of the sinks that write to a table."""
        return self._sinks_by_table.get(table_id, ())

    @cached_property
    def _sinks_by_table(self) -> Mapping[int, Sequence[int]]:
        found: dict[int, list[int]] = {}
        for relation in self.relations.values():
            if isinstance(relation, Sink) and relation.into is not None:
                found.setdefault(relation.into, []).append(relation.relation_id)
        return found

    @cached_property
    def sources(self) -> Mapping[int, ExternalSource]:
        """By id, the sources, also those that feed a table, with what their secrets and connections say now."""
        relations = self.relations.values()
        found = [r for r in relations if isinstance(r, ExternalSource)]
        found += [r.source for r in relations if isinstance(r, Table) and r.source is not None]
        return {source.relation_id: self.resolved(source) for source in found}

    def resolved(self, relation: ConnectedRelation) -> ConnectedRelation:
        """See `secrets.resolved`."""
        return resolved(relation, self.secrets, self.connections)

    def find_secret(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> SecretDesc | None:
        """As `find`, among the secrets, which have names of their own."""
        return _named(self._secrets_by_name, name, schema, search_path)

    def find_connection(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> ConnectionDesc | None:
        """As `find`, among the connections, which have names of their own."""
        return _named(self._connections_by_name, name, schema, search_path)

    def indexes_of(self, relation_id: int) -> list[Index]:
        """The indexes of a relation, also those that are still being created or have stopped."""
        return [reader for reader in self.dependents(relation_id) if isinstance(reader, Index)]

    def sequences_of(self, table_id: int) -> Sequence[NumberSequence]:
        """The sequences that belong to columns of a table."""
        return self._sequences.get(table_id, ())

    @cached_property
    def _sequences(self) -> Mapping[int, Sequence[NumberSequence]]:
        found: dict[int, list[NumberSequence]] = {}
        for relation in self.relations.values():
            if isinstance(relation, NumberSequence) and relation.owned_by is not None:
                found.setdefault(relation.owned_by.table_id, []).append(relation)
        return found

    def unique_indexes_of(self, table_id: int) -> Sequence[Index]:
        """The indexes that keep rows of a table from having equal keys, oldest first."""
        return self._unique_indexes.get(table_id, ())

    def deferrable_key_of(self, table_id: int) -> Index | None:
        """The index of a table's DEFERRABLE PRIMARY KEY, which is no `Table.primary_key`."""
        indexes = ((each, each.index.unique) for each in self.unique_indexes_of(table_id))
        return next((each for each, rule in indexes if rule is not None and rule.is_primary), None)

    def foreign_keys_to(self, table_id: int) -> Sequence[tuple[Table, ForeignKey]]:
        """The foreign keys that refer to a table, with the tables that have them, oldest first."""
        return self._foreign_keys.get(table_id, ())

    @cached_property
    def guarded_tables(self) -> frozenset[int]:
        """The tables of which other rows decide whether a row may be written to them, or taken from them."""
        keys = [each for pairs in self._foreign_keys.values() for each in pairs if each[1].enforced]
        children, parents = ({child.relation_id for child, _ in keys}, {key.table_id for _, key in keys})
        return frozenset({*self._unique_indexes, *children, *parents})

    @cached_property
    def _unique_indexes(self) -> Mapping[int, Sequence[Index]]:
        found: dict[int, list[Index]] = {}
        for relation in self.relations.values():
            if isinstance(relation, Index) and relation.index.unique is not None:
                found.setdefault(relation.index.relation_id, []).append(relation)
        return {key: sorted(indexes, key=lambda index: index.relation_id) for key, indexes in found.items()}

    @cached_property
    def _foreign_keys(self) -> Mapping[int, Sequence[tuple[Table, ForeignKey]]]:
        found: dict[int, list[tuple[Table, ForeignKey]]] = {}
        for relation in self.relations.values():
            if not isinstance(relation, Table):
                continue
            for constraint in relation.constraints:
                if isinstance(constraint, ForeignKey):
                    found.setdefault(constraint.table_id, []).append((relation, constraint))
        return {key: sorted(pairs, key=lambda pair: pair[1].constraint_id) for key, pairs in found.items()}

    def indexed_by(self, index: Index) -> IndexedRelation:
        """What an index of this catalog is on."""
        relation = self.relations[index.index.relation_id]
        assert isinstance(relation, IndexedRelation)
        return relation

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], Relation]:
        """By schema and name."""
        found: dict[tuple[str, str], Relation] = {(r.schema_name, r.name): r for r in self.own_internal_tables}
        found.update(((r.schema_name, r.name), r) for r in self.own_relations)
        return found

    @cached_property
    def _types_by_name(self) -> Mapping[tuple[str, str], UserType]:
        return {(each.schema_name, each.name): each for each in self.own_types}

    @cached_property
    def _types_by_oid(self) -> Mapping[int, SqlType]:
        found: dict[int, SqlType] = {}
        for each in self.types.values():
            found |= {each.type_id: each.sql_type, each.array_id: array_of(each.sql_type)}
        return found

    @cached_property
    def _secrets_by_name(self) -> Mapping[tuple[str, str], SecretDesc]:
        return {(each.schema_name, each.name): each for each in self.own_secrets}

    @cached_property
    def _connections_by_name(self) -> Mapping[tuple[str, str], ConnectionDesc]:
        return {(each.schema_name, each.name): each for each in self.own_connections}

    @cached_property
    def _functions_by_name(self) -> Mapping[tuple[str, str], Sequence[FunctionDesc]]:
        """By schema and name: several may differ in their arguments."""
        found: dict[tuple[str, str], list[FunctionDesc]] = {}
        for function in self.own_functions:
            found.setdefault((function.schema_name, function.name), []).append(function)
        return found

    @cached_property
    def _readers(self) -> Mapping[int, Sequence[CreatedRelation]]:
        """By the id of a relation, who reads it."""
        found: dict[int, list[CreatedRelation]] = {}
        for relation in self.relations.values():
            for upstream in dict.fromkeys(relation.depends_on):
                found.setdefault(upstream, []).append(relation)
        return found


class _OfDatabase(Protocol):
    @property
    def database_id(self) -> int: ...


Placed = TypeVar("Placed", bound=_OfDatabase)


def _own(everything: Mapping[int, Placed], catalog: Catalog) -> Iterable[Placed]:
    own = catalog.database_id
    return (each for each in everything.values() if each.database_id == own)


def _named(
    known: Mapping[tuple[str, str], Named], name: str, schema: str | None, search_path: tuple[str, ...]
) -> Named | None:
    for candidate in (schema,) if schema is not None else search_path:
        found = known.get((candidate, name))
        if found is not None:
            return found
    return None
