"""Domains in the system relations: their rows of pg_type and pg_constraint, and information_schema's relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.objects.standard_numbers import octets, precisions, time_digits
from risingpy.frontend.system_catalog.oids import DEFAULT_COLLATION_OID, schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.type_functions import function_oids
from risingpy.frontend.system_catalog.visible_columns import visible_columns
from risingpy.plan.catalog import Catalog, CheckConstraint, DomainDesc
from risingpy.plan.catalog.acl import Privilege
from risingpy.plan.catalog.rights import owns, privileges_of, securable
from risingpy.types import UNKNOWN, SqlType, TypeKind
from risingpy.types.system_types import as_text
from risingpy.types.type_entries import TYPES_BY_OID


def own_domains(catalog: Catalog) -> Iterator[DomainDesc]:
    """The domains of the database."""
    return (each for each in catalog.own_types if isinstance(each, DomainDesc))


def base_oid(domain: DomainDesc) -> int:
    """pg_type.typbasetype: the domain that it is over, or the type."""
    return shown_base(domain).oid if domain.parent is None else domain.parent.oid


def shown_base(domain: DomainDesc) -> SqlType:
    """The type below, as catalogs show it."""
    return as_text(domain.base) if domain.as_text else domain.base


def pg_type_rows(state: SystemState, domain: DomainDesc) -> Iterator[Row]:
    """The domain and its arrays."""
    base, place = shown_base(domain), (schema_oid(domain.schema_name), domain.owner)
    entry, is_array, is_enum = TYPES_BY_OID.get(base.oid), base.kind is TypeKind.ARRAY, base.kind is TypeKind.ENUM
    category = "A" if is_array else "E" if is_enum or entry is None else entry.category
    functions = "array" if is_array else "anyenum" if is_enum or entry is None else entry.name
    length = -1 if is_array else base.typlen
    by_value = length in (1, 2, 4, 8)
    collation = DEFAULT_COLLATION_OID if base.leaf.is_text else 0
    yield (
        *(domain.type_id, domain.name, *place, length, by_value, "d", category, False, True, ",", 0, 0, 0),
        *(domain.array_id, *function_oids(functions), 0, 0, 0),
        *("i", "p" if length > 0 else "m" if base.kind is TypeKind.NUMERIC else "x", domain.not_null),
        *(
            base_oid(domain),
            base.typmod if domain.parent is None else -1,
            base.depth if domain.parent is None else 0,
            collation,
        ),
        *(domain.default, domain.default, acl_texts(state, domain.acl)),
    )
    yield (
        *(domain.array_id, domain.array_name, *place, -1, False, "b", "A", False, True, ",", 0, 0, domain.type_id, 0),
        *(*function_oids("array"), 0, 0, 0, "i", "x", False, 0, -1, 0, collation, None, None, None),
    )


# -- constraints --------------------------------------------------------------------------------------------------


def constraint_definition(check: CheckConstraint, *, pretty: bool = False) -> str:
    """As CREATE DOMAIN has it; `pretty` without parentheses that it does not need."""
    text = check.text if pretty else f"({check.text})"
    return f"CHECK ({text}){'' if check.validated else ' NOT VALID'}"


def pg_constraint_rows(state: SystemState) -> Iterator[Row]:
    """The checks of domains."""
    for domain in own_domains(state.catalog):
        for check in domain.checks:
            yield (
                *(check.constraint_id, check.name, schema_oid(domain.schema_name), "c", False, False, check.validated),
                *(0, domain.type_id, 0, 0, 0, " ", " ", " ", True, 0, False),
                *(None, None, None, None, None, None, None, check.text),
            )


def constraint_objects(state: SystemState) -> Iterator[Row]:
    """The checks of domains, as `lookups` has objects."""
    for domain in own_domains(state.catalog):
        for check in domain.checks:
            plain, pretty = constraint_definition(check), constraint_definition(check, pretty=True)
            yield check.constraint_id, check.name, True, True, plain, pretty


def check_clauses(state: SystemState) -> Iterator[Row]:
    """The rows of information_schema.check_constraints; NOT NULL is one in the standard's words."""
    for domain in own_domains(state.catalog):
        if not owns(state.catalog, state.role_id, domain.owner):
            continue
        head = state.catalog.database, domain.schema_name
        for check in domain.checks:
            yield *head, check.name, f"({check.text})"


# -- information_schema -------------------------------------------------------------------------------------------


def base_names(state: SystemState, domain: DomainDesc) -> tuple[str, str]:
    """The schema and the name in pg_type of what the domain is over."""
    if domain.parent is not None:
        return domain.parent.schema_name, domain.parent.name
    base = shown_base(domain)
    found = state.catalog.types.get(base.leaf.oid)
    if found is None:
        return "pg_catalog", TYPES_BY_OID[base.oid].name
    return found.schema_name, found.array_name if base.kind is TypeKind.ARRAY else found.name


def data_type(state: SystemState, domain: DomainDesc) -> str:
    """What information_schema.domains calls the type of the values."""
    return shown_base(domain).name if base_names(state, domain)[0] == "pg_catalog" else "USER-DEFINED"


def measured_type(domain: DomainDesc) -> SqlType:
    """The type whose digits and length information_schema tells: as in PostgreSQL, not through two domains."""
    return shown_base(domain) if domain.parent is None else UNKNOWN


def _domains(state: SystemState) -> Iterable[Row]:
    database = state.catalog.database
    for domain in own_domains(state.catalog):
        on = securable(state.catalog, domain)
        if Privilege.USAGE not in privileges_of(state.catalog, state.role_id, on):
            continue
        base, names = measured_type(domain), base_names(state, domain)
        yield (
            *(database, domain.schema_name, domain.name, data_type(state, domain), base.length, octets(base)),
            *(None,) * 6,
            *(*precisions(base), time_digits(base), None, None, domain.default),
            *(database, *names, None, None, None, None, "1"),
        )


def _constraints(state: SystemState) -> Iterable[Row]:
    database = state.catalog.database
    for domain in own_domains(state.catalog):
        if owns(state.catalog, state.role_id, domain.owner):
            for check in domain.checks:
                own = database, domain.schema_name
                yield *own, check.name, *own, domain.name, "NO", "NO"


def _udt_usage(state: SystemState) -> Iterable[Row]:
    database = state.catalog.database
    for domain in own_domains(state.catalog):
        if owns(state.catalog, state.role_id, domain.owner):
            yield database, *base_names(state, domain), database, domain.schema_name, domain.name


def _column_usage(state: SystemState) -> Iterable[Row]:
    database = state.catalog.database
    for found in state.relations:
        for _, column in visible_columns(found):
            domain = None if column.domain is None else state.catalog.types.get(column.domain.oid)
            if domain is None or column.domain is None or column.domain.dimensions(column.type):
                continue
            if owns(state.catalog, state.role_id, domain.owner):
                table = database, found.schema_name, found.name
                yield database, domain.schema_name, domain.name, *table, column.name


DOMAINS = relation(
    "information_schema",
    "domains",
    "domain_catalog name, domain_schema name, domain_name name, data_type text, "
    "character_maximum_length int4, character_octet_length int4, character_set_catalog name, "
    "character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, "
    "collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, "
    "datetime_precision int4, interval_type text, interval_precision int4, domain_default text, udt_catalog name, "
    "udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, "
    "maximum_cardinality int4, dtd_identifier name",
    _domains,
)
DOMAIN_CONSTRAINTS = relation(
    "information_schema",
    "domain_constraints",
    "constraint_catalog name, constraint_schema name, constraint_name name, "
    "domain_catalog name, domain_schema name, domain_name name, is_deferrable text, initially_deferred text",
    _constraints,
)
DOMAIN_UDT_USAGE = relation(
    "information_schema",
    "domain_udt_usage",
    "udt_catalog name, udt_schema name, udt_name name, domain_catalog name, domain_schema name, domain_name name",
    _udt_usage,
)
COLUMN_DOMAIN_USAGE = relation(
    "information_schema",
    "column_domain_usage",
    "domain_catalog name, domain_schema name, domain_name name, table_catalog name, table_schema name, "
    "table_name name, column_name name",
    _column_usage,
)
