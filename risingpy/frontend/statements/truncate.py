"""TRUNCATE: all rows of some tables go in one epoch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from risingpy.errors import FeatureNotSupported, StalePlan
from risingpy.frontend import binder
from risingpy.frontend.altered_sequence import restart_sequence
from risingpy.frontend.binder import BoundRewrite
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.constraints.guarded import enforced_keys_to
from risingpy.frontend.parser.ast import Delete, ObjectName, ParsedStatement, Truncate
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.update_delete import rewriting
from risingpy.plan.catalog import Catalog
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import SqlType

_VERB = "TRUNCATE TABLE"


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Truncate, parameter_types: Sequence[SqlType]
) -> Command:
    """Each table's rows go as DELETE without WHERE takes them; all tables in one transaction.

    RESTART IDENTITY is a change of the schema, as ALTER SEQUENCE … RESTART is: a ROLLBACK takes it back.
    """
    names: dict[int, ObjectName] = {}
    for name in statement.tables:  # a table may be named twice
        relation = _deletion(session, name, session.database.reads.catalog).relation
        names[relation.relation_id] = name
    names.update(_referring(session, names, cascade=statement.cascade))
    # Locks are taken in the order of ids, so that two TRUNCATEs of the same tables cannot wait for each other.
    deletions = [
        rewriting(session, _VERB, partial(_deletion, session, names[key]), looks_at_keys=False) for key in sorted(names)
    ]

    def run(parameters: Parameters) -> Result:
        is_alone = not session.transaction.is_open
        if is_alone:
            session.scope.begin_implicit()
        for deletion in deletions:
            deletion.run(parameters)
        catalog = session.database.reads.catalog  # all tables are held by now
        readers = (child for table_id in names for child, _ in enforced_keys_to(catalog, table_id))
        if any(child.relation_id not in names for child in readers):
            raise StalePlan("a foreign key was added meanwhile", hint="Run the statement again.")
        if is_alone:
            session.scope.commit()
        if statement.restart_identity:
            _restart_sequences(session, names)
        return Result(CommandTag(_VERB))

    return Command(run)


def _restart_sequences(session: StatementContext, table_ids: Iterable[int]) -> None:
    """Has the sequences that the tables own begin again."""
    session.scope.begin_statement(session.database, commits_so_far=False, changes_schema=True)
    for table_id in table_ids:
        for sequence in session.database.reads.state.catalog.sequences_of(table_id):
            restart_sequence(session, sequence)


def _referring(session: StatementContext, names: Mapping[int, ObjectName], *, cascade: bool) -> dict[int, ObjectName]:
    """The tables that refer to these, directly or not. Raises FeatureNotSupported, as PostgreSQL, without CASCADE."""
    catalog, found = session.database.reads.catalog, dict[int, ObjectName]()
    left = list(names)
    while left:
        target = catalog.relations[left.pop()]
        for child, _ in enforced_keys_to(catalog, target.relation_id):
            if child.relation_id in names or child.relation_id in found:
                continue
            if not cascade:
                raise FeatureNotSupported(
                    "cannot truncate a table referenced in a foreign key constraint",
                    detail=f'Table "{child.name}" references "{target.name}".',
                    hint=f'Truncate table "{child.name}" at the same time, or use TRUNCATE ... CASCADE.',
                )
            session.notice(f'truncate cascades to table "{child.name}"')
            found[child.relation_id] = ObjectName(child.name, child.schema_name, 1)
            left.append(child.relation_id)
    return found


def _deletion(session: StatementContext, name: ObjectName, catalog: Catalog) -> BoundRewrite:
    everything = Delete(name, alias=None, where=None)
    path, values = session.search_path(), session.session_values()
    return binder.bind_delete(everything, catalog, path, session=values, privilege=Privilege.TRUNCATE)
