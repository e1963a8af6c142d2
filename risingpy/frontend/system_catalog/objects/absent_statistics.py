"""Relations of statistics that RisingPy does not keep, and of parts of a server that it does not have.

Their columns are PostgreSQL 15's, so that the queries of monitoring tools are answered, with no rows.
"""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemRelation, relation

_COLUMNS = {
    "pg_backend_memory_contexts": "name text, ident text, parent text, level int4, total_bytes int8, "
    "total_nblocks int8, free_bytes int8, free_chunks int8, used_bytes int8",
    "pg_config": "name text, setting text",
    "pg_hba_file_rules": "line_number int4, type text, database _text, user_name _text, address text, netmask text, "
    "auth_method text, options _text, error text",
    "pg_shmem_allocations": "name text, off int8, size int8, allocated_size int8",
    "pg_stat_archiver": "archived_count int8, last_archived_wal text, last_archived_time timestamptz, "
    "failed_count int8, last_failed_wal text, last_failed_time timestamptz, stats_reset timestamptz",
    "pg_stat_bgwriter": "checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, "
    "checkpoint_sync_time float8, buffers_checkpoint int8, buffers_clean int8, maxwritten_clean int8, "
    "buffers_backend int8, buffers_backend_fsync int8, buffers_alloc int8, stats_reset timestamptz",
    "pg_stat_database_conflicts": "datid oid, datname name, confl_tablespace int8, confl_lock int8, "
    "confl_snapshot int8, confl_bufferpin int8, confl_deadlock int8",
    "pg_stat_gssapi": "pid int4, gss_authenticated bool, principal text, encrypted bool",
    "pg_stat_recovery_prefetch": "stats_reset timestamptz, prefetch int8, hit int8, skip_init int8, skip_new int8, "
    "skip_fpw int8, skip_rep int8, wal_distance int4, block_distance int4, io_depth int4",
    "pg_stat_slru": "name text, blks_zeroed int8, blks_hit int8, blks_read int8, blks_written int8, "
    "blks_exists int8, flushes int8, truncates int8, stats_reset timestamptz",
    "pg_stat_ssl": "pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial text, "
    "issuer_dn text",
    "pg_stat_sys_indexes": "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
    "idx_scan int8, idx_tup_read int8, idx_tup_fetch int8",
    "pg_stat_sys_tables": "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
    "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, "
    "n_live_tup int8, n_dead_tup int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, "
    "last_autovacuum timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, "
    "autovacuum_count int8, analyze_count int8, autoanalyze_count int8",
    "pg_stat_wal": "wal_records int8, wal_fpi int8, wal_bytes text, wal_buffers_full int8, wal_write int8, "
    "wal_sync int8, wal_write_time float8, wal_sync_time float8, stats_reset timestamptz",
    "pg_stat_xact_all_tables": "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
    "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    "pg_stat_xact_sys_tables": "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
    "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    "pg_stat_xact_user_functions": "funcid oid, schemaname name, funcname name, calls int8, total_time float8, "
    "self_time float8",
    "pg_stat_xact_user_tables": "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, "
    "idx_scan int8, idx_tup_fetch int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8",
    "pg_statio_all_indexes": "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
    "idx_blks_read int8, idx_blks_hit int8",
    "pg_statio_all_sequences": "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    "pg_statio_all_tables": "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, "
    "idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, "
    "tidx_blks_hit int8",
    "pg_statio_sys_indexes": "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
    "idx_blks_read int8, idx_blks_hit int8",
    "pg_statio_sys_sequences": "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    "pg_statio_sys_tables": "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, "
    "idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, "
    "tidx_blks_hit int8",
    "pg_statio_user_indexes": "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, "
    "idx_blks_read int8, idx_blks_hit int8",
    "pg_statio_user_sequences": "relid oid, schemaname name, relname name, blks_read int8, blks_hit int8",
    "pg_statio_user_tables": "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, "
    "idx_blks_read int8, idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, "
    "tidx_blks_hit int8",
    "pg_statistic": "starelid oid, staattnum int2, stainherit bool, stanullfrac float4, stawidth int4, "
    "stadistinct float4, stakind1 int2, stakind2 int2, stakind3 int2, stakind4 int2, stakind5 int2, staop1 oid, "
    "staop2 oid, staop3 oid, staop4 oid, staop5 oid, stacoll1 oid, stacoll2 oid, stacoll3 oid, stacoll4 oid, "
    "stacoll5 oid, stanumbers1 _float4, stanumbers2 _float4, stanumbers3 _float4, stanumbers4 _float4, "
    "stanumbers5 _float4, stavalues1 text, stavalues2 text, stavalues3 text, stavalues4 text, stavalues5 text",
    "pg_stats": "schemaname name, tablename name, attname name, inherited bool, null_frac float4, avg_width int4, "
    "n_distinct float4, most_common_vals text, most_common_freqs _float4, histogram_bounds text, correlation float4, "
    "most_common_elems text, most_common_elem_freqs _float4, elem_count_histogram _float4",
}

ABSENT_STATISTICS: tuple[SystemRelation, ...] = tuple(
    relation("pg_catalog", name, columns) for name, columns in _COLUMNS.items()
)
