"""Where a new object stands: in a schema that its name or the search path gives, or in the session's temporary one."""

from __future__ import annotations

from risingpy.errors import DuplicateRelation, FeatureNotSupported, InvalidTableDefinition, SqlError
from risingpy.frontend.binder import BoundQuery
from risingpy.frontend.binder.typing.type_names import KnownTypes
from risingpy.frontend.parser.ast import ObjectName
from risingpy.frontend.parser.ast_parts import OnCommit
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_creates_in, check_creates_temporary
from risingpy.meta.schema.schemas import check_schema
from risingpy.plan.catalog import OWN_TEMPORARY_SCHEMA, Catalog, is_of_session, is_temporary_schema


def new_schema(session: StatementContext, name: ObjectName) -> str:
    """The schema of a new object: the one that its name has, or the first existing one of the search path.

    Raises InsufficientPrivilege unless the session may create in it, FeatureNotSupported for a temporary one.
    """
    schema = schema_for(session, name)
    if is_temporary_schema(schema):
        message = "only tables, views, sequences and indexes can be temporary"
        raise FeatureNotSupported(message, position=name.position)
    check_creates_in(session, schema, name.position)
    return schema


def schema_for(session: StatementContext, name: ObjectName) -> str:
    """As `new_schema`, for what nobody sees: nobody needs a right to create it. A temporary schema is made."""
    if name.schema is not None:
        return session.temporaries.place(session.cancelled) if name.schema == OWN_TEMPORARY_SCHEMA else name.schema
    if session.settings.search_path()[:1] == (OWN_TEMPORARY_SCHEMA,):
        return session.temporaries.place(session.cancelled)
    found = session.session_values().schema
    if found is None:
        raise InvalidTableDefinition(
            "no schema has been selected to create in", sqlstate="3F000", position=name.position
        )
    return found


def relation_schema(
    session: StatementContext, name: ObjectName, *, temporary: bool, on_commit: OnCommit | None = None
) -> str:
    """The schema of a new table, view or sequence, which is temporary if it is asked to be, or named so.

    Raises InvalidTableDefinition if its name or ON COMMIT says otherwise, or it is in another session's schema.
    """
    own = session.temporaries.schema
    if name.schema is not None and is_temporary_schema(name.schema) and name.schema != own:
        message = "cannot create relations in temporary schemas of other sessions"
        raise InvalidTableDefinition(message, position=name.position)
    if temporary and name.schema not in (None, OWN_TEMPORARY_SCHEMA, own):
        check_schema(session.database.reads.seen_state, str(name.schema))
        message = "cannot create temporary relation in non-temporary schema"
        raise InvalidTableDefinition(message, position=name.position)
    place = ObjectName(name.name, OWN_TEMPORARY_SCHEMA, name.position) if temporary else name
    if temporary or _is_placed_temporary(session, place):
        check_creates_temporary(session, name.position)
    schema = schema_for(session, place)
    if on_commit is not None and not is_temporary_schema(schema):
        raise InvalidTableDefinition("ON COMMIT can only be used on temporary tables", position=name.position)
    check_creates_in(session, schema, name.position)
    return schema


def _is_placed_temporary(session: StatementContext, name: ObjectName) -> bool:
    if name.schema is not None:
        return name.schema in (OWN_TEMPORARY_SCHEMA, session.temporaries.schema)
    return session.settings.search_path()[:1] == (OWN_TEMPORARY_SCHEMA,)


def made_temporary(session: StatementContext, schema: str, name: str, on_commit: OnCommit | None = None) -> None:
    """Tells the session of a new temporary relation, which the end of the transaction may drop or empty.

    Raises FeatureNotSupported if the transaction, which it is alone, cannot be committed with it, and drops it.
    """
    found = session.database.reads.catalog.find(name, schema, ())
    if found is None:
        return
    session.temporaries.made(found.relation_id, on_commit or OnCommit.PRESERVE_ROWS)
    if not session.transaction.is_open:
        try:
            session.temporaries.check_keys()
        except SqlError:
            session.temporaries.end_transaction(committed=False)
            raise


def reads_temporaries(catalog: Catalog, query: BoundQuery) -> bool:
    """Whether a query names a temporary relation."""
    named = (catalog.get(relation_id) for relation_id in query.dependencies)
    return any(relation is not None and is_of_session(relation) for relation in named)


def known_types(session: StatementContext) -> KnownTypes:
    """The types that users have created, as the session finds them."""
    return KnownTypes(session.database.reads.catalog, session.search_path())


def skipped(session: StatementContext, name: ObjectName) -> None:
    """Sends the notice that the relation exists and IF NOT EXISTS skips it."""
    session.notice(f'relation "{name.name}" already exists, skipping', sqlstate=DuplicateRelation.sqlstate)
