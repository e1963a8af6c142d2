"""CREATE SOURCE and ALTER SOURCE, as functions from state to state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from risingpy.connectors.included_columns import IncludedColumn
from risingpy.connectors.registry import connector_of, is_pushed, pushed_connector_of
from risingpy.connectors.secrets.hidden_options import StoredOptions
from risingpy.connectors.secrets.opened_options import opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import SerializationFailure
from risingpy.meta.schema.alter import repointed_views
from risingpy.meta.schema.options import OptionChanges, with_changes
from risingpy.meta.schema.relations import check_new_name, with_relation
from risingpy.meta.schema.secrets import check_hidden
from risingpy.meta.state import IdAllocator, MetaState
from risingpy.optimizer.repoint import repointed_source
from risingpy.plan.catalog import Catalog, ColumnDesc, CreatedRelation, ExternalSource, Table, Watermark


@dataclass(frozen=True, slots=True)
class NewSource:
    """CREATE SOURCE: `columns` end with the hidden `_row_id`."""

    schema_name: str
    name: str
    columns: tuple[ColumnDesc, ...]
    stored: StoredOptions
    definition: str
    watermark: Watermark | None = None
    included: tuple[IncludedColumn, ...] = ()


def add_source(state: MetaState, source: NewSource) -> MetaState:
    """`state` with an external source, whose options are checked."""
    check_new_name(state, source.schema_name, source.name)
    check_hidden(state, source.stored.hidden)
    allocate = IdAllocator(state.next_id)
    relation = ExternalSource(
        relation_id=allocate(),
        schema_name=source.schema_name,
        name=source.name,
        columns=source.columns,
        definition=source.definition,
        options=source.stored.options,
        hidden=source.stored.hidden,
        watermark=source.watermark,
        message_format=source.stored.message_format,
        included=source.included,
        version=state.catalog.version + 1,
    )
    return with_relation(replace(state, graph_version=state.graph_version + 1), relation, allocate)


def with_source_columns(state: MetaState, before: ExternalSource, after: ExternalSource) -> MetaState:
    """`state` with a source in its new form; what reads it has the same columns as before, at their new positions.

    Raises SerializationFailure if the source is no longer as `before`.
    """
    if state.catalog.relations.get(before.relation_id) != before:
        raise SerializationFailure("the source was changed meanwhile", hint="Run the statement again.")
    version = state.catalog.version + 1
    after = replace(after, version=version)
    places = {column.column_id: place for place, column in enumerate(after.columns)}
    positions = {place: places[column.column_id] for place, column in enumerate(before.columns)}
    relations: dict[int, CreatedRelation] = {**state.catalog.relations, after.relation_id: after}
    relations |= repointed_views(state, [(after, positions)])
    return replace(
        state,
        catalog=replace(state.catalog, version=version, relations=relations),
        jobs={key: repointed_source(job, after.relation_id, positions) for key, job in state.jobs.items()},
        stopped={key: repointed_source(job, after.relation_id, positions) for key, job in state.stopped.items()},
        graph_version=state.graph_version + 1,
    )


def with_source_options(
    state: MetaState, source_id: int, changes: OptionChanges, text: Callable[[str, str, str], str]
) -> MetaState:
    """`state` with other values of options of a source, or of the one that feeds a table.

    `text` puts one into the relation's definition.
    """
    relation = state.catalog.relations.get(source_id)
    source = relation.source if isinstance(relation, Table) else relation
    if not isinstance(source, ExternalSource):
        raise SerializationFailure("the source was dropped meanwhile", hint="Run the statement again.")
    check_hidden(state, changes.hidden)
    options, hidden = with_changes(source.options, source.hidden, changes)
    definition = source.definition
    for name, value in changes.texts:
        definition = text(definition, name, value)
    renewed = replace(source, options=options, hidden=hidden, definition=definition)
    changed = replace(relation, source=renewed, definition=definition) if isinstance(relation, Table) else renewed
    relations = {**state.catalog.relations, source_id: changed}
    catalog = replace(state.catalog, version=state.catalog.version + 1, relations=relations)
    return replace(state, catalog=catalog, graph_version=state.graph_version + 1)


def check_reachable(catalog: Catalog, vault: Vault, stored: StoredOptions) -> None:
    """Reaches the other side of a source. Raises what the connector's `check` does."""
    options = opened(vault, catalog.resolved(stored))
    with options.masked_errors():
        if is_pushed(options.options):
            pushed_connector_of(options.options).check()
        else:
            connector_of(options.options, options.message_format).check()
