"""The statements that give objects to their owners, and rights to others."""

from __future__ import annotations

from collections.abc import Iterator

from risingpy.frontend.definitions.dependencies import Described
from risingpy.frontend.definitions.relation_texts import full_name
from risingpy.frontend.definitions.step import Chapter, Definition, database_name, role_name
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import (
    BOOTSTRAP_ROLE_ID,
    Catalog,
    CompositeDesc,
    ConnectionDesc,
    DomainDesc,
    EnumDesc,
    FunctionDesc,
    Index,
    NumberSequence,
    SecretDesc,
    UserType,
)
from risingpy.plan.catalog.acl import ALL_OF, PUBLIC, Acl, DefaultAcl, ObjectKind, Privilege
from risingpy.plan.catalog.databases import DEFAULT_DATABASE, DatabaseDesc
from risingpy.plan.catalog.rights import securable

_PLURALS = {
    ObjectKind.RELATION: "TABLES",
    ObjectKind.SEQUENCE: "SEQUENCES",
    ObjectKind.FUNCTION: "FUNCTIONS",
    ObjectKind.SCHEMA: "SCHEMAS",
    ObjectKind.SECRET: "SECRETS",
    ObjectKind.CONNECTION: "CONNECTIONS",
    ObjectKind.TYPE: "TYPES",
}


class RightsTexts:
    """Of one catalog. Owners come first: what an owner grants is granted by them."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def of_object(self, found: Described | UserType | SecretDesc | ConnectionDesc) -> Iterator[Definition]:
        """The owner and the rights of a relation, function, type, secret or connection."""
        if isinstance(found, Index):  # it has those of what it is on
            return
        noun, name = found.noun.upper(), full_name(found)
        if isinstance(found, FunctionDesc):
            name += f"({', '.join(map(str, found.argument_types))})"
        database = database_name(self._catalog, found.database_id)
        is_owned = isinstance(found, NumberSequence) and found.owned_by is not None
        if found.owner != BOOTSTRAP_ROLE_ID and not is_owned:
            yield self._step(database, f"ALTER {noun} {name} OWNER TO {self._role(found.owner)}")
        on = securable(self._catalog, found)
        granted = "FUNCTION" if isinstance(found, FunctionDesc) else noun
        if on.stored is not None:
            yield from self._list(database, f"{granted} {name}", on.kind, on.owner, on.stored)
        if isinstance(found, FunctionDesc | EnumDesc | DomainDesc | CompositeDesc | SecretDesc | ConnectionDesc):
            return
        names = {column.column_id: column.name for column in found.columns}
        for column_id, acl in found.column_acls:
            if column_id in names:
                column = f" ({quoted(names[column_id])})"
                yield from self._grants(database, f"{granted} {name}", acl, ALL_OF[ObjectKind.COLUMN], column)

    def of_server(self) -> Iterator[Definition]:
        """The owners and rights of databases and schemas, of languages, types, parameters and tablespaces."""
        lists = self._catalog.server_acls
        for name, acl in lists.parameters.items():
            yield from self._grants(DEFAULT_DATABASE, f"PARAMETER {name}", acl, ALL_OF[ObjectKind.PARAMETER])
        for name, acl in lists.tablespaces.items():
            on = f"TABLESPACE {quoted(name)}"
            yield from self._list(DEFAULT_DATABASE, on, ObjectKind.TABLESPACE, BOOTSTRAP_ROLE_ID, acl)
        for database in self._catalog.databases.values():
            yield from self._of_database(database)

    def _of_database(self, database: DatabaseDesc) -> Iterator[Definition]:
        here = database_name(self._catalog, database.database_id)
        for name, owner in database.schema_owners.items():
            if name in database.schemas and owner != BOOTSTRAP_ROLE_ID:
                yield self._step(here, f"ALTER SCHEMA {quoted(name)} OWNER TO {self._role(owner)}")
        for name, acl in database.schema_acls.items():
            if name in database.schemas:
                owner = database.schema_owners.get(name, BOOTSTRAP_ROLE_ID)
                yield from self._list(here, f"SCHEMA {quoted(name)}", ObjectKind.SCHEMA, owner, acl)
        for name, acl in database.language_acls.items():
            yield from self._list(here, f"LANGUAGE {quoted(name)}", ObjectKind.LANGUAGE, BOOTSTRAP_ROLE_ID, acl)
        for name, acl in database.type_acls.items():
            yield from self._list(here, f"TYPE {quoted(name)}", ObjectKind.TYPE, BOOTSTRAP_ROLE_ID, acl)
        for each in database.default_acls:
            yield from self._default(here, each)
        if database.owner != BOOTSTRAP_ROLE_ID:
            yield self._step(here, f"ALTER DATABASE {quoted(here)} OWNER TO {self._role(database.owner)}")
        if database.acl is not None:
            yield from self._list(here, f"DATABASE {quoted(here)}", ObjectKind.DATABASE, database.owner, database.acl)

    def _list(self, database: str, on: str, kind: ObjectKind, owner: int, acl: Acl) -> Iterator[Definition]:
        """Takes what everybody and the owner have by default, and gives what is listed."""
        for grantee in ("PUBLIC", self._role(owner)):
            yield self._step(database, f"REVOKE ALL ON {on} FROM {grantee}")
        yield from self._grants(database, on, acl, ALL_OF[kind])

    def _grants(self, database: str, on: str, acl: Acl, known: Privilege, column: str = "") -> Iterator[Definition]:
        for item in acl:
            for bits, option in ((item.privileges & ~item.grantable, ""), (item.grantable, " WITH GRANT OPTION")):
                privileges = [f"{each.shown}{column}" for each in Privilege if each & bits & known]
                if privileges:
                    text = f"GRANT {', '.join(privileges)} ON {on} TO {self._grantee(item.grantee)}{option}"
                    yield self._step(database, text, by=item.grantor)

    def _default(self, database: str, given: DefaultAcl) -> Iterator[Definition]:
        kind = ObjectKind(given.kind)
        head = f"ALTER DEFAULT PRIVILEGES FOR ROLE {self._role(given.role)}"
        head += "" if given.schema is None else f" IN SCHEMA {quoted(given.schema)}"
        if given.schema is None:  # the list takes the place of what objects have anyway
            for grantee in ("PUBLIC", self._role(given.role)):
                yield self._step(database, f"{head} REVOKE ALL ON {_PLURALS[kind]} FROM {grantee}")
        for item in given.acl:
            for bits, option in ((item.privileges & ~item.grantable, ""), (item.grantable, " WITH GRANT OPTION")):
                privileges = [each.shown for each in Privilege if each & bits & ALL_OF[kind]]
                if privileges:
                    text = f"GRANT {', '.join(privileges)} ON {_PLURALS[kind]} TO {self._grantee(item.grantee)}{option}"
                    yield self._step(database, f"{head} {text}")

    def _step(self, database: str, text: str, by: int = BOOTSTRAP_ROLE_ID) -> Definition:
        """A superuser grants in the owner's name. What others have granted they grant again themselves."""
        role = "" if by == BOOTSTRAP_ROLE_ID else self._role(by)
        return Definition(
            Chapter.RIGHTS, database, "right", "", f"SET ROLE {role}; {text}; RESET ROLE" if role else text
        )

    def _role(self, role_id: int) -> str:
        return role_name(self._catalog, role_id)

    def _grantee(self, role_id: int) -> str:
        return "PUBLIC" if role_id == PUBLIC else self._role(role_id)
