"""The first words of a statement decide who parses it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from risingpy.frontend.parser import alter, ddl, dropping, maintenance, utility
from risingpy.frontend.parser.ast import Delete, Insert, Merge, Select, Statement, Update
from risingpy.frontend.parser.channels import parsing as channels
from risingpy.frontend.parser.creation.comment import parse_comment
from risingpy.frontend.parser.creation.function import parse_call
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import parse_use
from risingpy.frontend.parser.dml import copy, merge, rows
from risingpy.frontend.parser.dml.table_of_query import with_into
from risingpy.frontend.parser.dml.within import WriteInWith, write_in_with
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
    "CALL": parse_call,
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
    "LISTEN": channels.parse_listen,
    "UNLISTEN": channels.parse_unlisten,
    "NOTIFY": channels.parse_notify,
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
    "KILL": jobs.parse_kill,
    "SUBSCRIBE": parse_subscribe,
    "USE": parse_use,
}

# Statements of PostgreSQL and RisingWave that this version does not run: refused by name, not as nonsense.
UNSUPPORTED_STATEMENTS = frozenset(
    """
    DO IMPORT LOAD SECURITY
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)

_INSTEAD = MappingProxyType({"DO": "CREATE PROCEDURE … LANGUAGE sql and CALL run several statements."})


def _write_within(cursor: Cursor) -> WriteInWith | None:
    """INSERT, UPDATE or DELETE as a common table expression, perhaps with a WITH of its own. PostgreSQL 15 has no
    MERGE there."""
    word = cursor.word_after_with() if cursor.word == "WITH" else cursor.word
    if word not in WRITES or word == "MERGE":
        return None
    with_ = cursor.common_tables() if cursor.word == "WITH" else None
    statement = WRITES[word](cursor)
    assert not isinstance(statement, Merge)
    return write_in_with(statement if with_ is None else replace(statement, with_=with_))


def parse_statement(cursor: Cursor) -> Statement:
    """The statement at the cursor; the caller checks that nothing follows it."""
    word = cursor.word
    if word in QUERIES or word in WRITES:  # only at the top of the statement, which the binder knows
        cursor.may_write_within(lambda: _write_within(cursor))
    if word == "WITH" and cursor.word_after_with() in WRITES:
        with_ = cursor.common_tables()
        return replace(WRITES[cursor.word](cursor), with_=with_)
    if word in QUERIES:
        return with_into(Select(cursor.query()))
    if word == "EXPLAIN":
        return parse_explain(cursor, parse_statement)
    if word in UNSUPPORTED_STATEMENTS:
        cursor.unsupported(word, hint=_INSTEAD.get(word))
    parser = STATEMENT_PARSERS.get(word)
    if parser is None:
        cursor.fail()
    return parser(cursor)
