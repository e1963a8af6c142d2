"""The objects that GRANT, REVOKE and ALTER … OWNER TO name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from risingpy.errors import (
    InsufficientPrivilege,
    SqlError,
    UndefinedFunction,
    UndefinedObject,
    UndefinedTable,
    WrongObjectType,
)
from risingpy.frontend.binder.typing.polymorphic import type_of_routine
from risingpy.frontend.binder.typing.type_names import KnownTypes
from risingpy.frontend.parameters.definitions import parameter_key
from risingpy.frontend.parser.ast import FunctionArgument, ObjectName
from risingpy.frontend.parser.ast_parts import ColumnName
from risingpy.frontend.parser.roles.trees import GrantedOn
from risingpy.frontend.system_catalog.oids import DEFAULT_TABLESPACE, LANGUAGE_OIDS
from risingpy.plan.catalog import (
    OWN_TEMPORARY_SCHEMA,
    Catalog,
    ConnectionDesc,
    CreatedRelation,
    DomainDesc,
    ExternalSource,
    FunctionDesc,
    Index,
    MaterializedView,
    NumberSequence,
    SecretDesc,
    Sink,
    Subscription,
    Table,
    UserType,
    View,
    is_temporary_schema,
)
from risingpy.plan.catalog.acl import INVALID_GRANT, ObjectKind, Privilege
from risingpy.plan.catalog.functions import shown_type, type_key
from risingpy.plan.catalog.rights import (
    Securable,
    database_of,
    language_of,
    parameter_of,
    privileges_of,
    schema_of,
    securable,
    tablespace_of,
    type_of,
)
from risingpy.types.type_entries import TYPES_BY_NAME

_RELATIONS: Mapping[str, type | None] = MappingProxyType(
    {
        "TABLE": None,  # as in PostgreSQL, the word for every relation
        "MATERIALIZED VIEW": MaterializedView,
        "VIEW": View,
        "SOURCE": ExternalSource,
        "SINK": Sink,
        "SUBSCRIPTION": Subscription,
        "SEQUENCE": NumberSequence,
    }
)
_ALL_RELATIONS: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "TABLES": (Table, View, MaterializedView, ExternalSource),  # as in PostgreSQL
        "MATERIALIZED VIEWS": (MaterializedView,),
        "VIEWS": (View,),
        "SOURCES": (ExternalSource,),
        "SINKS": (Sink,),
        "SUBSCRIPTIONS": (Subscription,),
        "SEQUENCES": (NumberSequence,),
    }
)
KINDS: Mapping[str, ObjectKind] = MappingProxyType(
    {
        **dict.fromkeys((*_RELATIONS, *_ALL_RELATIONS), ObjectKind.RELATION),
        **dict.fromkeys(("FUNCTION", "ROUTINE", "PROCEDURE"), ObjectKind.FUNCTION),
        **dict.fromkeys(("FUNCTIONS", "ROUTINES", "PROCEDURES"), ObjectKind.FUNCTION),
        **dict.fromkeys(("SECRET", "SECRETS"), ObjectKind.SECRET),
        **dict.fromkeys(("CONNECTION", "CONNECTIONS"), ObjectKind.CONNECTION),
        **dict.fromkeys(("SCHEMA", "SCHEMAS"), ObjectKind.SCHEMA),
        "DATABASE": ObjectKind.DATABASE,
        "LANGUAGE": ObjectKind.LANGUAGE,
        "TABLESPACE": ObjectKind.TABLESPACE,
        "PARAMETER": ObjectKind.PARAMETER,
        **dict.fromkeys(("TYPE", "TYPES", "DOMAIN"), ObjectKind.TYPE),
        **dict.fromkeys(("SEQUENCE", "SEQUENCES"), ObjectKind.SEQUENCE),
    }
)
Named = CreatedRelation | FunctionDesc | SecretDesc | ConnectionDesc


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds objects of one catalog by name, for a role with a search path."""

    catalog: Catalog
    search_path: tuple[str, ...]
    role_id: int

    def securables(self, on: GrantedOn) -> Iterator[Securable]:
        """Raises 42P01, 42883, 42704, 3F000 or 3D000 for what does not exist, 42809 for another kind."""
        match on.kind:
            case "SCHEMA":
                yield from (self._schema(each.name, each.position) for each in on.schemas)
            case "DATABASE":
                for each in on.schemas:
                    database = self.catalog.database_named(each.name)
                    if database is None:
                        message = f'database "{each.name}" does not exist'
                        raise SqlError(message, sqlstate="3D000", position=each.position)
                    yield database_of(database)
            case "LANGUAGE":
                yield from (self._language(each) for each in on.schemas)
            case "PARAMETER":
                yield from (parameter_of(self.catalog, parameter_key(each.name)) for each in on.schemas)
            case "TABLESPACE":
                yield from (self._tablespace(each) for each in on.schemas)
            case "TYPE" | "DOMAIN":
                yield from (self._type(name, is_domain=on.kind == "DOMAIN") for name in on.names)
            case _ if on.schemas:
                for each in on.schemas:
                    self._schema(each.name, each.position)
                    yield from (securable(self.catalog, found) for found in self._all_in(on.kind, each.name))
            case "FUNCTION" | "ROUTINE" | "PROCEDURE":
                for name, arguments in on.routines:
                    yield securable(self.catalog, self.function(name, arguments))
            case "SECRET":
                yield from (securable(self.catalog, self.secret(name)) for name in on.names)
            case "CONNECTION":
                yield from (securable(self.catalog, self.connection(name)) for name in on.names)
            case _:
                for name in on.names:
                    yield securable(self.catalog, self.relation(name, on.kind))

    def relation(self, name: ObjectName, kind: str) -> CreatedRelation:
        """The relation of a kind (`TABLE`: of any) of that name."""
        self._check_schema(name)
        found = self.catalog.find(name.name, name.schema, self.search_path)
        relation = None if found is None else self.catalog.relations.get(found.relation_id)
        if relation is None:
            raise UndefinedTable(f'relation "{name}" does not exist', position=name.position)
        if isinstance(relation, Index):
            raise WrongObjectType(f'"{name.name}" is an index', position=name.position)
        wanted = _RELATIONS[kind]
        if wanted is not None and not isinstance(relation, wanted):
            raise WrongObjectType(f'"{name.name}" is not a {kind.lower()}', position=name.position)
        return relation

    def function(self, name: ObjectName, arguments: tuple[FunctionArgument, ...] | None) -> FunctionDesc:
        """The function of that name, and of these arguments' types if they are given."""
        self._check_schema(name)
        found = self.catalog.functions_named(name.name, name.schema, self.search_path)
        if arguments is None:
            if len(found) > 1:
                hint = "Specify the argument list to select the function unambiguously."
                message = f'function name "{name.name}" is not unique'
                raise SqlError(message, sqlstate="42725", hint=hint, position=name.position)
            if not found:
                raise UndefinedFunction(f'could not find a function named "{name.name}"', position=name.position)
            return found[0]
        known = KnownTypes(self.catalog, self.search_path)
        types = [type_of_routine(each.type.text, each.type.position, known) for each in arguments]
        for function in found:
            if [*map(type_key, function.argument_types)] == [*map(type_key, types)]:
                return function
        shown = f"{name.name}({', '.join(map(shown_type, types))})"
        raise UndefinedFunction(f"function {shown} does not exist", position=name.position)

    def created_type(self, name: ObjectName) -> UserType:
        """The type of that name, which a user has created."""
        self._check_schema(name)
        found = self.catalog.find_type(name.name, name.schema, self.search_path)
        if found is None:
            raise UndefinedObject(f'type "{name}" does not exist', position=name.position)
        return found

    def domain(self, name: ObjectName) -> DomainDesc:
        """The domain of that name. Raises WrongObjectType for another type."""
        found = self.created_type(name)
        if not isinstance(found, DomainDesc):
            raise WrongObjectType(f'"{name.name}" is not a domain', position=name.position)
        return found

    def secret(self, name: ObjectName) -> SecretDesc:
        """The secret of that name."""
        self._check_schema(name)
        found = self.catalog.find_secret(name.name, name.schema, self.search_path)
        if found is None:
            raise UndefinedObject(f'secret "{name}" does not exist', position=name.position)
        return found

    def connection(self, name: ObjectName) -> ConnectionDesc:
        """The connection of that name."""
        self._check_schema(name)
        found = self.catalog.find_connection(name.name, name.schema, self.search_path)
        if found is None:
            raise UndefinedObject(f'connection "{name}" does not exist', position=name.position)
        return found

    def _language(self, given: ColumnName) -> Securable:
        if given.name not in LANGUAGE_OIDS:
            raise UndefinedObject(f'language "{given.name}" does not exist', position=given.position)
        if given.name == "internal":
            raise WrongObjectType(
                'language "internal" is not trusted',
                detail="GRANT and REVOKE are not allowed on untrusted languages, "
                "because only superusers can use untrusted languages.",
                position=given.position,
            )
        return language_of(self.catalog, given.name)

    def _tablespace(self, given: ColumnName) -> Securable:
        if given.name != DEFAULT_TABLESPACE:
            raise UndefinedObject(f'tablespace "{given.name}" does not exist', position=given.position)
        return tablespace_of(self.catalog, given.name)

    def _type(self, name: ObjectName, *, is_domain: bool) -> Securable:
        if name.schema != "pg_catalog":
            self._check_schema(name)
        entry = TYPES_BY_NAME.get(name.name) if name.schema in (None, "pg_catalog") else None
        if entry is None:
            return securable(self.catalog, self.domain(name) if is_domain else self.created_type(name))
        if is_domain:
            raise WrongObjectType(f'"{name.name}" is not a domain', position=name.position)
        if entry.category == "A":
            raise SqlError(
                "cannot set privileges of array types",
                sqlstate=INVALID_GRANT,
                hint="Set the privileges of the element type instead.",
                position=name.position,
            )
        return type_of(self.catalog, entry.name)

    def _check_schema(self, name: ObjectName) -> None:
        if name.schema in (None, OWN_TEMPORARY_SCHEMA):
            return
        if is_temporary_schema(name.schema) and name.schema in self.search_path:  # the session's own
            return
        schema = self._schema(name.schema, name.position)
        if Privilege.USAGE not in privileges_of(self.catalog, self.role_id, schema):
            raise InsufficientPrivilege(f"permission denied for schema {name.schema}", position=name.position)

    def _schema(self, name: str, position: int) -> Securable:
        if name not in self.catalog.schemas:
            raise SqlError(f'schema "{name}" does not exist', sqlstate="3F000", position=position)
        return schema_of(self.catalog, name)

    def _all_in(self, kind: str, schema: str) -> Iterator[Named]:
        match KINDS[kind]:
            case ObjectKind.FUNCTION:
                yield from (each for each in self.catalog.own_functions if each.schema_name == schema)
            case ObjectKind.SECRET:
                yield from (each for each in self.catalog.own_secrets if each.schema_name == schema)
            case ObjectKind.CONNECTION:
                yield from (each for each in self.catalog.own_connections if each.schema_name == schema)
            case _:
                relations = [r for r in self.catalog.own_relations if r.schema_name == schema]
                yield from (r for r in relations if isinstance(r, _ALL_RELATIONS[kind]) and not r.is_being_created)
