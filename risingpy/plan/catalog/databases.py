"""Databases: each has schemas of its own, and relations name theirs by its id.

A store of before there were several has one, the default database, with all its schemas. No statement drops it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from risingpy.plan.catalog.acl import Acl, DefaultAcl
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID, UNLIMITED

DEFAULT_SCHEMA = "public"
DEFAULT_DATABASE_ID = 1
DEFAULT_DATABASE = "dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDesc:
    """CREATE DATABASE. `owner` is the id of a role; `connection_limit` counts clients, but for superusers.

    `schema_owners` has the ids of the roles that own schemas, by the schema's name; the bootstrap superuser owns the
    others. `settings` are ALTER DATABASE … SET's: each session begins with them. `acl` and
    `schema_acls` are the lists of rights on the database and on its schemas, as far as somebody has granted or revoked
    something; `language_acls` and `type_acls` are those of languages and of built-in types, by their names in
    pg_language and pg_type; `default_acls` are those of new objects.
    """

    database_id: int
    name: str
    owner: int = BOOTSTRAP_ROLE_ID
    allows_connections: bool = True
    connection_limit: int = UNLIMITED
    schemas: tuple[str, ...] = (DEFAULT_SCHEMA,)
    schema_owners: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    acl: Acl | None = None
    schema_acls: Mapping[str, Acl] = field(default_factory=dict)
    default_acls: tuple[DefaultAcl, ...] = ()
    language_acls: Mapping[str, Acl] = field(default_factory=dict)
    type_acls: Mapping[str, Acl] = field(default_factory=dict)


FIRST_DATABASE = DatabaseDesc(database_id=DEFAULT_DATABASE_ID, name=DEFAULT_DATABASE)
FIRST_DATABASES: Mapping[int, DatabaseDesc] = {DEFAULT_DATABASE_ID: FIRST_DATABASE}
