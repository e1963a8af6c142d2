"""COMMENT ON statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from risingpy.frontend.definitions.relation_texts import full_name
from risingpy.frontend.definitions.step import Chapter, Definition, database_name, role_name
from risingpy.frontend.system_catalog.constraints.listed import constraints_of
from risingpy.frontend.system_catalog.objects.domains import own_domains
from risingpy.frontend.table_definition import quoted
from risingpy.plan.catalog import Catalog, CommentDesc, CommentedKind, Table
from risingpy.sql_quoting import quoted_text


def comment_texts(catalog: Catalog) -> Iterator[Definition]:
    """One for each comment whose object is still there."""
    for comment in catalog.comments.values():
        if comment.database_id not in catalog.databases:
            continue
        on = _object(catalog.seen_from(comment.database_id), comment)
        if on is not None:
            here = database_name(catalog, comment.database_id)
            yield Definition(Chapter.RIGHTS, here, "comment", "", f"COMMENT ON {on} IS {quoted_text(comment.text)}")


def _object(catalog: Catalog, comment: CommentDesc) -> str | None:
    match comment.kind:
        case CommentedKind.RELATION:
            return _relation(catalog, comment)
        case CommentedKind.CONSTRAINT:
            for table in catalog.own_relations:
                for each in constraints_of(catalog, table) if isinstance(table, Table) else ():
                    if each.oid == comment.object_id:
                        return f"CONSTRAINT {quoted(each.name)} ON {full_name(table)}"
            for domain in own_domains(catalog):
                for check in domain.checks:
                    if check.constraint_id == comment.object_id:
                        return f"CONSTRAINT {quoted(check.name)} ON DOMAIN {full_name(domain)}"
        case CommentedKind.FUNCTION:
            function = catalog.functions.get(comment.object_id)
            if function is not None:
                types = ", ".join(map(str, function.argument_types))
                return f"{function.noun.upper()} {full_name(function)}({types})"
        case CommentedKind.TYPE:
            created = catalog.types.get(comment.object_id)
            return None if created is None else f"TYPE {full_name(created)}"
        case CommentedKind.SCHEMA:
            return f"SCHEMA {quoted(comment.name)}" if comment.name in catalog.schemas else None
        case CommentedKind.DATABASE:
            if comment.object_id in catalog.databases:
                return f"DATABASE {quoted(database_name(catalog, comment.object_id))}"
        case CommentedKind.ROLE:
            if comment.object_id in catalog.roles:
                return f"ROLE {role_name(catalog, comment.object_id)}"
        case _:
            assert_never(comment.kind)
    return None


def _relation(catalog: Catalog, comment: CommentDesc) -> str | None:
    found = catalog.relations.get(comment.object_id)
    if found is None:
        for table in catalog.own_relations:
            for each in constraints_of(catalog, table) if isinstance(table, Table) else ():
                if each.index_oid == comment.object_id:
                    return f"INDEX {quoted(table.schema_name)}.{quoted(each.name)}"
        return None
    if not comment.part:
        return f"{found.noun.upper()} {full_name(found)}"
    names = [column.name for column in found.columns if column.column_id == comment.part]
    return f"COLUMN {full_name(found)}.{quoted(names[0])}" if names else None
