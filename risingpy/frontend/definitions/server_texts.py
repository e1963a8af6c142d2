"""The statements that make roles, databases and schemas, and what sessions begin with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from risingpy.frontend.definitions.step import Chapter, Definition, database_name, role_name
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID, DEFAULT_DATABASE_ID, DEFAULT_SCHEMA, Catalog, Role
from risingpy.plan.catalog.databases import DEFAULT_DATABASE, DatabaseDesc
from risingpy.plan.catalog.temporary import is_temporary_schema
from risingpy.sql_quoting import quoted_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SYSTEM_SETTINGS = ("old_snapshot_threshold", "job_epoch_ms")


def server_texts(catalog: Catalog, parameters: Mapping[str, str]) -> Iterator[Definition]:
    """Roles, memberships, databases, schemas, and settings of all of these. `parameters` are ALTER SYSTEM's."""
    roles = [each for each in catalog.roles.values() if not each.is_predefined]
    yield from (_role(catalog, each) for each in roles)
    for role in roles:
        yield from _memberships(catalog, role)
    for database in catalog.databases.values():
        if database.database_id != DEFAULT_DATABASE_ID:
            yield _step("database", database.name, f"CREATE DATABASE {quoted(database.name)}")
        yield from _schemas(catalog, database)
    for name in _SYSTEM_SETTINGS:
        yield _step("parameter", name, f"ALTER SYSTEM SET {name} = {quoted_text(parameters[name])}")


def last_texts(catalog: Catalog) -> Iterator[Definition]:
    """Settings with which sessions begin, and limits: after all else, since the statements here are in sessions too."""
    for role in catalog.roles.values():
        if role.is_predefined:
            continue
        of = f"ALTER ROLE {role_name(catalog, role.role_id)}"
        yield from _settings("role", role.name, of, role.settings)
        for database_id, settings in role.settings_in.items():
            inside = f"{of} IN DATABASE {quoted(database_name(catalog, database_id))}"
            yield from _settings("role", role.name, inside, settings)
    for database in catalog.databases.values():
        of = f"ALTER DATABASE {quoted(database_name(catalog, database.database_id))}"
        yield from _settings("database", database.name, of, database.settings)
        if database.connection_limit != DatabaseDesc(database_id=0, name="").connection_limit:
            yield _step("database", database.name, f"{of} CONNECTION LIMIT {database.connection_limit}", Chapter.RIGHTS)
        if not database.allows_connections:
            yield _step("database", database.name, f"{of} ALLOW_CONNECTIONS false", Chapter.RIGHTS)


def _step(kind: str, name: str, text: str, part: Chapter = Chapter.SERVER) -> Definition:
    return Definition(part, DEFAULT_DATABASE, kind, name, text)


def _role(catalog: Catalog, role: Role) -> Definition:
    switches = {
        "SUPERUSER": role.superuser,
        "INHERIT": role.inherit,
        "CREATEROLE": role.create_role,
        "CREATEDB": role.create_database,
        "LOGIN": role.login,
        "REPLICATION": role.replication,
        "BYPASSRLS": role.bypass_rls,
    }
    is_first = role.role_id == BOOTSTRAP_ROLE_ID
    words = [f"{'' if on else 'NO'}{word}" for word, on in switches.items()]
    words.append(f"CONNECTION LIMIT {role.connection_limit}")
    if role.secret is not None:
        words.append(f"PASSWORD {quoted_text(role.secret)}")
    if role.valid_until is not None:
        words.append(f"VALID UNTIL '{_EPOCH + timedelta(microseconds=role.valid_until)}'")
    verb = "ALTER" if is_first else "CREATE"
    return _step("role", role.name, f"{verb} ROLE {role_name(catalog, role.role_id)} WITH {' '.join(words)}")


def _memberships(catalog: Catalog, role: Role) -> Iterator[Definition]:
    for each in role.member_of:
        option = " WITH ADMIN OPTION" if each.admin else ""
        group, member = role_name(catalog, each.role_id), role_name(catalog, role.role_id)
        yield _step("membership", role.name, f"GRANT {group} TO {member}{option}")


def _schemas(catalog: Catalog, database: DatabaseDesc) -> Iterator[Definition]:
    here = database_name(catalog, database.database_id)
    names = [name for name in database.schemas if not is_temporary_schema(name)]
    for name in names:
        if name != DEFAULT_SCHEMA:
            yield Definition(Chapter.SERVER, here, "schema", name, f"CREATE SCHEMA {quoted(name)}")
    if DEFAULT_SCHEMA not in names:
        yield Definition(Chapter.SERVER, here, "schema", DEFAULT_SCHEMA, f"DROP SCHEMA {DEFAULT_SCHEMA}")


def _settings(kind: str, name: str, of: str, settings: Mapping[str, str]) -> Iterator[Definition]:
    for parameter, value in settings.items():
        yield _step(kind, name, f"{of} SET {parameter} TO {quoted_text(value)}", Chapter.RIGHTS)
