"""The catalog at one version: an immutable snapshot that a statement is bound and planned against.

The meta service (`meta/durable_state.py`) keeps the newest one, and replaces it between epochs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from risingpy.plan.catalog.functions import FunctionDesc
from risingpy.plan.catalog.relations import CreatedRelation, Index, IndexedRelation, InternalTable, Relation

DEFAULT_SCHEMA = "public"
INTERNAL_PREFIX = "__internal_"  # of the names of state tables


@dataclass(frozen=True, slots=True)
class Catalog:
    """All relations and schemas at one version.

    `internal_tables`, by id, are the jobs' state tables: queries may name them, and nothing else may.
    """

    version: int = 0
    database: str = "dev"
    schemas: tuple[str, ...] = (DEFAULT_SCHEMA,)
    relations: Mapping[int, CreatedRelation] = field(default_factory=dict)
    internal_tables: Mapping[int, InternalTable] = field(default_factory=dict)
    functions: Mapping[int, FunctionDesc] = field(default_factory=dict)

    def functions_named(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> Sequence[FunctionDesc]:
        """The functions called `name` in `schema`, or in the first schema of the search path that has one."""
        for candidate in (schema,) if schema is not None else search_path:
            found = [f for f in self.functions.values() if f.name == name and f.schema_name == candidate]
            if found:
                return found
        return ()

    def find(self, name: str, schema: str | None, search_path: tuple[str, ...]) -> Relation | None:
        """The relation called `name` in `schema`, or in the first schema of the search path that has it."""
        searched: list[Relation] = [*self.relations.values()]
        if name.startswith(INTERNAL_PREFIX):
            searched += self.internal_tables.values()
        for candidate in (schema,) if schema is not None else search_path:
            for relation in searched:
                if relation.name == name and relation.schema_name == candidate:
                    return relation
        return None

    def get(self, relation_id: int) -> Relation | None:
        """The relation or internal table with this id."""
        return self.relations.get(relation_id) or self.internal_tables.get(relation_id)

    def dependents(self, relation_id: int) -> Sequence[CreatedRelation]:
        """The relations that read `relation_id` directly."""
        return [r for r in self.relations.values() if relation_id in r.depends_on]

    def indexes_of(self, relation_id: int) -> list[Index]:
        """The indexes of a relation, also those that are still being created or have stopped."""
        return [reader for reader in self.dependents(relation_id) if isinstance(reader, Index)]

    def indexed_by(self, index: Index) -> IndexedRelation:
        """What an index of this catalog is on."""
        relation = self.relations[index.index.relation_id]
        assert isinstance(relation, IndexedRelation)
        return relation
