"""VACUUM, ANALYZE, CLUSTER, REINDEX, CHECKPOINT, REFRESH MATERIALIZED VIEW and LOCK TABLE as in PostgreSQL; RECOVER."""

from __future__ import annotations

from risingpy.frontend.parser.ast import LockTable, Maintenance, NamedTable, Recover
from risingpy.frontend.parser.cursor import Cursor
from risingpy.plan.catalog import Index, MaterializedView, RelationClass, Sink

_MODES = (
    ("ACCESS", "SHARE"),
    ("ROW", "SHARE"),
    ("ROW", "EXCLUSIVE"),
    ("SHARE", "UPDATE", "EXCLUSIVE"),
    ("SHARE", "ROW", "EXCLUSIVE"),
    ("SHARE",),
    ("EXCLUSIVE",),
    ("ACCESS", "EXCLUSIVE"),
)
_RECOVERED: tuple[tuple[tuple[str, ...], RelationClass], ...] = (
    (("MATERIALIZED", "VIEW"), MaterializedView),
    (("INDEX",), Index),
    (("SINK",), Sink),
)
_VACUUM_OPTIONS = {
    *("FULL", "FREEZE", "VERBOSE", "ANALYZE", "DISABLE_PAGE_SKIPPING", "SKIP_LOCKED", "INDEX_CLEANUP"),
    *("PROCESS_TOAST", "TRUNCATE", "PARALLEL"),
}


def parse_vacuum(cursor: Cursor) -> Maintenance:
    """VACUUM [(options) | FULL FREEZE VERBOSE ANALYZE] [table [(columns)], …]."""
    cursor.expect("VACUUM")
    if cursor.word == "(":
        _options(cursor, _VACUUM_OPTIONS)
    else:
        for word in ("FULL", "FREEZE", "VERBOSE"):
            cursor.accept(word)
        _ = cursor.accept("ANALYZE") or cursor.accept("ANALYSE")
    return Maintenance("VACUUM", _tables(cursor), alone="VACUUM")


def parse_analyze(cursor: Cursor) -> Maintenance:
    """ANALYZE [(options) | VERBOSE] [table [(columns)], …]."""
    cursor.one_of("ANALYZE", "ANALYSE")
    if cursor.word == "(":
        _options(cursor, {"VERBOSE", "SKIP_LOCKED"})
    else:
        cursor.accept("VERBOSE")
    return Maintenance("ANALYZE", _tables(cursor))


def parse_checkpoint(cursor: Cursor) -> Maintenance:
    """CHECKPOINT."""
    cursor.expect("CHECKPOINT")
    return Maintenance("CHECKPOINT")


def parse_cluster(cursor: Cursor) -> Maintenance:
    """CLUSTER [VERBOSE] [table [USING index]]."""
    cursor.expect("CLUSTER")
    cursor.accept("VERBOSE")
    if cursor.at_end:
        return Maintenance("CLUSTER", alone="CLUSTER")
    table = NamedTable(cursor.object_name())
    if cursor.accept("USING"):
        cursor.name()
    return Maintenance("CLUSTER", (table,))


def parse_reindex(cursor: Cursor) -> Maintenance:
    """REINDEX [(options)] INDEX | TABLE | SCHEMA | DATABASE | SYSTEM [CONCURRENTLY] name."""
    cursor.expect("REINDEX")
    if cursor.word == "(":
        _options(cursor, {"CONCURRENTLY", "VERBOSE", "TABLESPACE"})
    what = cursor.one_of("INDEX", "TABLE", "SCHEMA", "DATABASE", "SYSTEM")
    alone = "REINDEX CONCURRENTLY" if cursor.accept("CONCURRENTLY") else None
    name = cursor.object_name()
    if what in ("INDEX", "TABLE"):
        return Maintenance("REINDEX", (NamedTable(name),), alone=alone)
    return Maintenance("REINDEX", alone=alone or f"REINDEX {what}")


def parse_refresh(cursor: Cursor) -> Maintenance:
    """REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH DATA]."""
    cursor.expect("REFRESH", "MATERIALIZED", "VIEW")
    cursor.accept("CONCURRENTLY")
    name = cursor.object_name()
    if cursor.accept("WITH", "NO"):
        cursor.unsupported("REFRESH MATERIALIZED VIEW … WITH NO DATA")
    if cursor.accept("WITH"):
        cursor.expect("DATA")
    return Maintenance("REFRESH MATERIALIZED VIEW", (NamedTable(name),))


def parse_recover(cursor: Cursor) -> Recover:
    """RECOVER [[MATERIALIZED VIEW | INDEX | SINK] name, …]."""
    cursor.expect("RECOVER")
    if cursor.at_end:
        return Recover()
    kind = next((kind for words, kind in _RECOVERED if cursor.accept(*words)), None)
    return Recover(kind, cursor.comma_separated(cursor.object_name))


def parse_lock(cursor: Cursor) -> LockTable:
    """LOCK [TABLE] [ONLY] name [*], … [IN mode MODE] [NOWAIT]."""
    cursor.expect("LOCK")
    cursor.accept("TABLE")

    def table() -> NamedTable:
        cursor.accept("ONLY")
        found = NamedTable(cursor.object_name())
        cursor.accept("*")
        return found

    tables = cursor.comma_separated(table)
    mode: tuple[str, ...] = ("ACCESS", "EXCLUSIVE")
    if cursor.accept("IN"):
        mode = next((words for words in _MODES if cursor.accept(*words, "MODE")), ())
        if not mode:
            cursor.fail()
    return LockTable(tables, " ".join(mode), no_wait=cursor.accept("NOWAIT"))


def _tables(cursor: Cursor) -> tuple[NamedTable, ...]:
    def table() -> NamedTable:
        name = cursor.object_name()
        return NamedTable(name, cursor.in_parentheses(cursor.name) if cursor.word == "(" else ())

    return () if cursor.at_end else cursor.comma_separated(table)


def _options(cursor: Cursor, known: set[str]) -> None:
    def option() -> None:
        cursor.one_of(*known)
        if cursor.word not in (",", ")"):
            cursor.value()

    cursor.in_parentheses(option)
