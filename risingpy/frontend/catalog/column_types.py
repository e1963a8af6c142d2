"""What DuckDB does not know of a system relation's columns, told by their names: oids, vectors, functions, "char".

A query may call a column otherwise (`i.indkey AS keys`) and use that name further out, so that names are followed
through aliases. Two columns of one name in different relations have one type in PostgreSQL's catalogs.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from risingpy.frontend.catalog.registry import RELATIONS
from risingpy.frontend.catalog.system_relation import SystemType

VECTORS = frozenset((SystemType.INT2VECTOR, SystemType.OIDVECTOR))
ARRAYS = VECTORS | {SystemType.INT2S, SystemType.OIDS, SystemType.TEXTS, SystemType.CHARS}


def _types() -> dict[str, SystemType]:
    # pg_catalog's meaning of a name comes first: it is what clients' queries are written for.
    ordered = sorted(RELATIONS.values(), key=lambda relation: relation.schema != "pg_catalog")
    types: dict[str, SystemType] = {}
    for relation in ordered:
        for column in relation.columns:
            types.setdefault(column.name, column.type)
    return types


COLUMN_TYPES: Mapping[str, SystemType] = _types()


def names_with_types(tree: exp.Expr) -> dict[str, SystemType]:
    """The types of the columns, and of the aliases that stand for columns."""
    types = dict(COLUMN_TYPES)
    aliases = [alias for alias in tree.find_all(exp.Alias) if isinstance(alias.this.unnest(), exp.Column)]
    for _ in range(2):  # an alias of an alias
        for alias in aliases:
            found = types.get(alias.this.unnest().name)
            if found is not None and (found in VECTORS or found is SystemType.REGPROC):
                types[alias.alias] = found
    return types


def type_of(node: exp.Expr | None, types: Mapping[str, SystemType]) -> SystemType | None:
    """The type of an expression that is a column; None of any other."""
    column = None if node is None else node.unnest()
    return types.get(column.name) if isinstance(column, exp.Column) else None
