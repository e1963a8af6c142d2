"""The first words of a statement decide who parses it."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.frontend.parser import alter, ddl, dml, utility
from risingpy.frontend.parser.ast import Explain, ExplainKind, Select, Statement
from risingpy.frontend.parser.cursor import Cursor
from risingpy.optimizer.explain_tree import ExplainFormat

_QUERIES = ("SELECT", "VALUES", "WITH", "TABLE", "(")

_PARSERS: dict[str, Callable[[Cursor], Statement]] = {
    "ALTER": alter.parse_alter,
    "CREATE": ddl.parse_create,
    "DROP": ddl.parse_drop,
    "INSERT": dml.parse_insert,
    "UPDATE": dml.parse_update,
    "DELETE": dml.parse_delete,
    "COPY": dml.parse_copy,
    "SHOW": utility.parse_show,
    "DESCRIBE": utility.parse_describe,
    "DESC": utility.parse_describe,
    "SET": utility.parse_set,
    "RESET": utility.parse_reset,
    "BACKUP": utility.parse_backup,
    "FLUSH": utility.parse_flush,
    "BEGIN": utility.parse_begin,
    "START": utility.parse_start,
    "COMMIT": utility.parse_commit,
    "END": utility.parse_commit,
    "ROLLBACK": utility.parse_rollback,
    "ABORT": utility.parse_rollback,
    "DISCARD": utility.parse_discard,
    "DEALLOCATE": utility.parse_deallocate,
    "CLOSE": utility.parse_close,
    "UNLISTEN": utility.parse_unlisten,
}

# Statements of PostgreSQL and RisingWave that this version does not run: refused by name, not as nonsense.
_UNSUPPORTED = frozenset(
    """
    ANALYZE CALL CANCEL CHECKPOINT CLUSTER COMMENT DECLARE DO EXECUTE FETCH GRANT IMPORT KILL LISTEN LOAD LOCK
    MERGE MOVE NOTIFY PREPARE REASSIGN RECOVER REFRESH REINDEX RELEASE REVOKE SAVEPOINT SECURITY TRUNCATE USE VACUUM
    WAIT
    """.split()  # noqa: SIM905 - a page of words reads better than a page of quotes
)


def parse_statement(cursor: Cursor) -> Statement:
    """The statement at the cursor; the caller checks that nothing follows it."""
    word = cursor.word
    if word in _QUERIES:
        return Select(cursor.query())
    if word == "EXPLAIN":
        return _parse_explain(cursor)
    if word in _UNSUPPORTED:
        cursor.unsupported(word)
    parser = _PARSERS.get(word)
    if parser is None:
        cursor.fail()
    return parser(cursor)


def _parse_explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    options: dict[str, str] = {}
    if cursor.word == "(" and not _is_query_in_parentheses(cursor):
        options = dict(cursor.in_parentheses(lambda: _parse_explain_option(cursor)))
    else:
        for word in ("ANALYZE", "VERBOSE"):
            if cursor.accept(word):
                options[word] = "TRUE"
    kinds = [kind for kind in ExplainKind if _is_on(options.get(kind.name))]
    kind = ExplainKind(options["TYPE"].lower()) if "TYPE" in options else (kinds or [ExplainKind.PHYSICAL])[0]
    return Explain(
        parse_statement(cursor),
        verbose=_is_on(options.get("VERBOSE")),
        analyze=_is_on(options.get("ANALYZE")),
        kind=kind,
        format=ExplainFormat(options.get("FORMAT", "TEXT").lower()),
    )


def _is_query_in_parentheses(cursor: Cursor) -> bool:
    tokens = cursor.peek(2)
    return len(tokens) == 2 and tokens[1] in _QUERIES


def _parse_explain_option(cursor: Cursor) -> tuple[str, str]:
    names = ("VERBOSE", "ANALYZE", "TRACE", "LOGICAL", "PHYSICAL", "DISTSQL", "TYPE", "FORMAT")
    if cursor.word not in names:
        cursor.fail()
    name = cursor.any_word().upper()
    value = "TRUE" if cursor.word in (",", ")") else cursor.value().upper()
    if name == "FORMAT" and value.lower() not in [each.value for each in ExplainFormat]:
        cursor.unsupported(f"EXPLAIN (FORMAT {value})")
    if name == "TYPE" and value.lower() not in [kind.value for kind in ExplainKind]:
        cursor.fail()
    return name, value


def _is_on(value: str | None) -> bool:
    return value in ("TRUE", "ON", "1")
