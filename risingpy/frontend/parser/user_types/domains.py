"""CREATE DOMAIN and ALTER DOMAIN, after these words."""

from __future__ import annotations

from risingpy.frontend.parser.ast_alter import AddConstraint, DropConstraint, RenameConstraint, ValidateConstraint
from risingpy.frontend.parser.ast_constraints import CheckDefinition
from risingpy.frontend.parser.ast_parts import ColumnName, Expression, ObjectName
from risingpy.frontend.parser.creation.constraint import (
    begins_table_constraint,
    parse_column_constraint,
    parse_table_constraint,
)
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.trees import AlterObjectOwner
from risingpy.frontend.parser.user_types.trees import (
    AlterDomain,
    AlterTypePlace,
    CreateDomain,
    DomainAction,
    SetDomainDefault,
    SetDomainNotNull,
)

_OF_TABLES = ("UNIQUE", "PRIMARY", "PRIMARY KEY", "FOREIGN", "FOREIGN KEY", "REFERENCES", "EXCLUDE")


def parse_create_domain(cursor: Cursor) -> CreateDomain:
    """`name [AS] type`, then COLLATE, DEFAULT, NOT NULL, NULL and CHECK in any order."""
    name = cursor.object_name()
    cursor.accept("AS")
    type_name = cursor.type_name()
    collation: ObjectName | None = None
    default: Expression | None = None
    is_null: bool | None = None
    checks: list[CheckDefinition] = []
    while not cursor.at_end:
        given = cursor.name() if cursor.accept("CONSTRAINT") else None
        position = cursor.position
        if cursor.word == "CHECK":
            checks.append(_check(cursor, given, name))
        elif cursor.word in ("NOT", "NULL"):
            wanted = not cursor.accept("NOT")
            cursor.expect("NULL")
            if is_null is not None and is_null != wanted:
                cursor.fail_with("conflicting NULL/NOT NULL constraints", position)
            is_null = wanted
        elif given is None and cursor.accept("DEFAULT"):
            if default is not None:
                cursor.fail_with("multiple default expressions", position)
            default = cursor.default_expression()
        elif given is None and cursor.accept("COLLATE"):
            collation = cursor.object_name()
        else:
            _refuse_others(cursor)
    return CreateDomain(name, type_name, default, is_null is False, tuple(checks), collation)


def _check(cursor: Cursor, given: ColumnName | None, domain: ObjectName) -> CheckDefinition:
    found = parse_column_constraint(cursor, given, ColumnName(domain.name, domain.position))
    assert isinstance(found, CheckDefinition)
    return found


def _refuse_others(cursor: Cursor) -> None:
    """Raises SyntaxError_ for a constraint that only a table can have, and for whatever is no constraint."""
    kinds = {"UNIQUE": "unique", "PRIMARY": "primary key", "EXCLUDE": "exclusion"}
    if cursor.word in _OF_TABLES:
        kind = kinds.get(cursor.word.split()[0], "foreign key")
        cursor.fail_with(f"{kind} constraints not possible for domains", cursor.position)
    cursor.fail()


def parse_alter_domain(cursor: Cursor) -> AlterDomain | AlterTypePlace | AlterObjectOwner:
    """`name` and one action."""
    name = cursor.object_name()
    if cursor.accept("RENAME", "TO"):
        return AlterTypePlace(name, new_name=cursor.name(), kind="DOMAIN")
    if cursor.accept("SET", "SCHEMA"):
        return AlterTypePlace(name, new_schema=cursor.name(), kind="DOMAIN")
    if cursor.accept("OWNER", "TO"):
        return AlterObjectOwner("DOMAIN", name, None, role_name(cursor))
    return AlterDomain(name, _action(cursor))


def _action(cursor: Cursor) -> DomainAction:
    if cursor.accept("SET", "DEFAULT"):
        return SetDomainDefault(cursor.expression())
    if cursor.accept("DROP", "DEFAULT"):
        return SetDomainDefault(None)
    if cursor.accept("SET", "NOT", "NULL"):
        return SetDomainNotNull(not_null=True)
    if cursor.accept("DROP", "NOT", "NULL"):
        return SetDomainNotNull(not_null=False)
    if cursor.accept("DROP", "CONSTRAINT"):
        if_exists = cursor.accept("IF", "EXISTS")
        constraint = cursor.name()
        cascade = cursor.accept("CASCADE")
        if not cascade:
            cursor.accept("RESTRICT")
        return DropConstraint(constraint, if_exists, cascade)
    if cursor.accept("RENAME", "CONSTRAINT"):
        constraint = cursor.name()
        cursor.expect("TO")
        return RenameConstraint(constraint, cursor.name())
    if cursor.accept("VALIDATE", "CONSTRAINT"):
        return ValidateConstraint(cursor.name())
    cursor.expect("ADD")
    if begins_table_constraint(cursor):
        if cursor.word in _OF_TABLES or (cursor.word == "CONSTRAINT" and cursor.peek(3)[-1] in _OF_TABLES):
            if cursor.accept("CONSTRAINT"):
                cursor.name()
            _refuse_others(cursor)
        found = parse_table_constraint(cursor)
        if isinstance(found, CheckDefinition):
            return AddConstraint(found)
    return cursor.fail()
