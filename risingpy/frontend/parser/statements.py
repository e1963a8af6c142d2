"""The first words of a statement decide who parses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from risingpy.frontend.parser import alter, ddl, dropping, maintenance, utility
from risingpy.frontend.parser.ast import Delete, Insert, Merge, Select, Statement, Update
from risingpy.frontend.parser.creation.comment import parse_comment
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import parse_use
from risingpy.frontend.parser.dml import copy, merge, rows
from risingpy.frontend.parser.dml.table_of_query import with_into
from risingpy.frontend.parser.explain import QUERIES, parse_explain
from risingpy.frontend.parser.held import prepared, sql_cursors
from risingpy.frontend.parser.jobs import parse as jobs
from risingpy.frontend.parser.roles import parsing as roles
from risingpy.frontend.parser.subscriptions import parse_subscribe

# The statements that may follow WITH, besides queries.
WRITES: dict[str, Callable[[Cursor], Insert | Update | Delete | Merge]] = {
    "INSERT": rows.parse_insert,
    "UPDATE": rows.parse_update,
    "DELETE": rows.parse_delete,
    "MERGE": merge.parse_merge,
}


STATEMENT_PARSERS: dict[str, Callable[[Cursor], Statement]] = {
    "ALTER": roles.or_role(roles.parse_alter_role, alter.parse_alter),
    "CREATE": roles.or_role(roles.parse_create_role, ddl.parse_create),
    "DROP": roles.or_role(roles.parse_drop_role, dropping.parse_drop),
    **WRITES,
    "COMMENT": parse_comment,
    "TRUNCATE": rows.parse_truncate,
    "COPY": copy.parse_copy,
    "SHOW": utility.parse_show,
    "DESCRIBE": utility.parse_describe,
    "DESC": utility.parse_describe,
    "SET": utility.parse_set,
    "RESET": utility.parse_reset,
    "GRANT": roles.parse_grant,
    "REVOKE": roles.parse_revoke,
    "REASSIGN": roles.parse_reassign,
    "BACKUP": utility.parse_backup,
    "FLUSH": utility.parse_flush,
    "BEGIN": utility.parse_begin,
    "START": utility.parse_start,
    "COMMIT": utility.parse_commit,
    "END": utility.parse_commit,
    "ROLLBACK": utility.parse_rollback,
    "ABORT": utility.parse_rollback,
    "DISCARD": utility.parse_discard,
    "SAVEPOINT": utility.parse_savepoint,
    "RELEASE": utility.parse_release,
    "PREPARE": prepared.parse_prepare,
    "EXECUTE": prepared.parse_execute,
    "DEALLOCATE": prepared.parse_deallocate,
    "DECLARE": sql_cursors.parse_declare,
    "FETCH": sql_cursors.parse_fetch,
    "MOVE": sql_cursors.parse_fetch,
    "CLOSE": sql_cursors.parse_close,
    "UNLISTEN": utility.parse_unlisten,
    "VACUUM": maintenance.parse_vacuum,
    "ANALYZE": maintenance.parse_analyze,
    "ANALYSE": maintenance.parse_analyze,
    "CHECKPOINT": maintenance.parse_checkpoint,
    "CLUSTER": maintenance.parse_cluster,
    "REINDEX": maintenance.parse_reindex,
    "REFRESH": maintenance.parse_refresh,
    "RECOVER": maintenance.parse_recover,
    "LOCK": maintenance.parse_lock,
    "WAIT": jobs.parse_wait,
    "CANCEL": jobs.parse_cancel,
    "SUBSCRIBE": parse_subscribe,
    "USE": parse_use,
}

# Statements of PostgreSQL and RisingWave that this version does not run: refused by name, not as nonsense.
UNSUPPORTED_STATEMENTS = frozenset(
    """
    CALL DO IMPORT KILL LISTEN LOAD NOTIFY SECURITY
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)


def parse_statement(cursor: Cursor) -> Statement:
    """The statement at the cursor; the caller checks that nothing follows it."""
    word = cursor.word
    if word == "WITH" and cursor.word_after_with() in WRITES:
        with_ = cursor.common_tables()
        return replace(WRITES[cursor.word](cursor), with_=with_)
    if word in QUERIES:
        return with_into(Select(cursor.query()))
    if word == "EXPLAIN":
        return parse_explain(cursor, parse_statement)
    if word in UNSUPPORTED_STATEMENTS:
        cursor.unsupported(word)
    parser = STATEMENT_PARSERS.get(word)
    if parser is None:
        cursor.fail()
    return parser(cursor)
