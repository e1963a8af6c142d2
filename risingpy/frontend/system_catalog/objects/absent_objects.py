"""Relations of what RisingPy does not have, with PostgreSQL 15's columns: foreign tables, replication.

Their columns exist, so that clients' queries give no rows; `pg_empty` has those that the more usual clients read.
"""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemRelation, relation

_PG_CATALOG = {
    "pg_available_extension_versions": "name name, version text, installed bool, superuser bool, trusted bool, "
    "relocatable bool, schema name, requires _name, comment text",
    "pg_available_extensions": "name name, default_version text, installed_version text, comment text",
    "pg_file_settings": "sourcefile text, sourceline int4, seqno int4, name text, setting text, applied bool, "
    "error text",
    "pg_ident_file_mappings": "line_number int4, map_name text, sys_name text, pg_username text, error text",
    "pg_replication_origin": "roident oid, roname text",
    "pg_replication_origin_status": "local_id oid, external_id text, remote_lsn text, local_lsn text",
    "pg_replication_slots": "slot_name name, plugin name, slot_type text, datoid oid, database name, "
    "temporary bool, active bool, active_pid int4, xmin xid, catalog_xmin xid, restart_lsn text, "
    "confirmed_flush_lsn text, wal_status text, safe_wal_size int8, two_phase bool",
    "pg_rules": "schemaname name, tablename name, rulename name, definition text",
    "pg_shseclabel": "objoid oid, classoid oid, provider text, label text",
    "pg_stat_progress_analyze": "pid int4, datid oid, datname name, relid oid, phase text, sample_blks_total int8, "
    "sample_blks_scanned int8, ext_stats_total int8, ext_stats_computed int8, child_tables_total int8, "
    "child_tables_done int8, current_child_table_relid oid",
    "pg_stat_progress_basebackup": "pid int4, phase text, backup_total int8, backup_streamed int8, "
    "tablespaces_total int8, tablespaces_streamed int8",
    "pg_stat_progress_cluster": "pid int4, datid oid, datname name, relid oid, command text, phase text, "
    "cluster_index_relid oid, heap_tuples_scanned int8, heap_tuples_written int8, heap_blks_total int8, "
    "heap_blks_scanned int8, index_rebuild_count int8",
    "pg_stat_progress_copy": "pid int4, datid oid, datname name, relid oid, command text, type text, "
    "bytes_processed int8, bytes_total int8, tuples_processed int8, tuples_excluded int8",
    "pg_stat_progress_create_index": "pid int4, datid oid, datname name, relid oid, index_relid oid, command text, "
    "phase text, lockers_total int8, lockers_done int8, current_locker_pid int8, blocks_total int8, "
    "blocks_done int8, tuples_total int8, tuples_done int8, partitions_total int8, partitions_done int8",
    "pg_stat_progress_vacuum": "pid int4, datid oid, datname name, relid oid, phase text, heap_blks_total int8, "
    "heap_blks_scanned int8, heap_blks_vacuumed int8, index_vacuum_count int8, max_dead_tuples int8, "
    "num_dead_tuples int8",
    "pg_stat_replication": "pid int4, usesysid oid, usename name, application_name text, client_addr text, "
    "client_hostname text, client_port int4, backend_start timestamptz, backend_xmin xid, state text, "
    "sent_lsn text, write_lsn text, flush_lsn text, replay_lsn text, write_lag text, flush_lag text, "
    "replay_lag text, sync_priority int4, sync_state text, reply_time timestamptz",
    "pg_stat_replication_slots": "slot_name text, spill_txns int8, spill_count int8, spill_bytes int8, "
    "stream_txns int8, stream_count int8, stream_bytes int8, total_txns int8, total_bytes int8, "
    "stats_reset timestamptz",
    "pg_stat_subscription": "subid oid, subname name, pid int4, relid oid, received_lsn text, "
    "last_msg_send_time timestamptz, last_msg_receipt_time timestamptz, latest_end_lsn text, "
    "latest_end_time timestamptz",
    "pg_stat_subscription_stats": "subid oid, subname name, apply_error_count int8, sync_error_count int8, "
    "stats_reset timestamptz",
    "pg_stat_user_functions": "funcid oid, schemaname name, funcname name, calls int8, total_time float8, "
    "self_time float8",
    "pg_stat_wal_receiver": "pid int4, status text, receive_start_lsn text, receive_start_tli int4, "
    "written_lsn text, flushed_lsn text, received_tli int4, last_msg_send_time timestamptz, "
    "last_msg_receipt_time timestamptz, latest_end_lsn text, latest_end_time timestamptz, slot_name text, "
    "sender_host text, sender_port int4, conninfo text",
    "pg_statistic_ext_data": "stxoid oid, stxdinherit bool, stxdndistinct text, stxddependencies text, "
    "stxdmcv text, stxdexpr text",
    "pg_stats_ext": "schemaname name, tablename name, statistics_schemaname name, statistics_name name, "
    "statistics_owner name, attnames _name, exprs _text, kinds _char, inherited bool, n_distinct text, "
    "dependencies text, most_common_vals _text, most_common_val_nulls _bool, most_common_freqs _float8, "
    "most_common_base_freqs _float8",
    "pg_stats_ext_exprs": "schemaname name, tablename name, statistics_schemaname name, statistics_name name, "
    "statistics_owner name, expr text, inherited bool, null_frac float4, avg_width int4, n_distinct float4, "
    "most_common_vals text, most_common_freqs _float4, histogram_bounds text, correlation float4, "
    "most_common_elems text, most_common_elem_freqs _float4, elem_count_histogram _float4",
    "pg_subscription_rel": "srsubid oid, srrelid oid, srsubstate char, srsublsn text",
}
_INFORMATION_SCHEMA = {
    "attributes": "udt_catalog name, udt_schema name, udt_name name, attribute_name name, ordinal_position int4, "
    "attribute_default text, is_nullable text, data_type text, character_maximum_length int4, "
    "character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, "
    "collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, "
    "numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, "
    "interval_precision int4, attribute_udt_catalog name, attribute_udt_schema name, attribute_udt_name name, "
    "scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, "
    "is_derived_reference_attribute text",
    "check_constraint_routine_usage": "constraint_catalog name, constraint_schema name, constraint_name name, "
    "specific_catalog name, specific_schema name, specific_name name",
    "column_column_usage": "table_catalog name, table_schema name, table_name name, column_name name, "
    "dependent_column name",
    "column_options": "table_catalog name, table_schema name, table_name name, column_name name, option_name name, "
    "option_value text",
    "foreign_data_wrapper_options": "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, "
    "option_name name, option_value text",
    "foreign_server_options": "foreign_server_catalog name, foreign_server_name name, option_name name, "
    "option_value text",
    "foreign_table_options": "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, "
    "option_name name, option_value text",
    "foreign_tables": "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, "
    "foreign_server_catalog name, foreign_server_name name",
    "role_udt_grants": "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, "
    "privilege_type text, is_grantable text",
    "transforms": "udt_catalog name, udt_schema name, udt_name name, specific_catalog name, specific_schema name, "
    "specific_name name, group_name name, transform_type text",
    "triggered_update_columns": "trigger_catalog name, trigger_schema name, trigger_name name, "
    "event_object_catalog name, event_object_schema name, event_object_table name, event_object_column name",
    "triggers": "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation text, "
    "event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, "
    "action_condition text, action_statement text, action_orientation text, action_timing text, "
    "action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, "
    "action_reference_new_row name, created timestamptz",
    "udt_privileges": "grantor name, grantee name, udt_catalog name, udt_schema name, udt_name name, "
    "privilege_type text, is_grantable text",
    "user_defined_types": "user_defined_type_catalog name, user_defined_type_schema name, "
    "user_defined_type_name name, user_defined_type_category text, is_instantiable text, is_final text, "
    "ordering_form text, ordering_category text, ordering_routine_catalog name, ordering_routine_schema name, "
    "ordering_routine_name name, reference_type text, data_type text, character_maximum_length int4, "
    "character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name name, "
    "collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, "
    "numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, "
    "interval_precision int4, source_dtd_identifier name, ref_dtd_identifier name",
    "user_mapping_options": "authorization_identifier name, foreign_server_catalog name, foreign_server_name name, "
    "option_name name, option_value text",
    "user_mappings": "authorization_identifier name, foreign_server_catalog name, foreign_server_name name",
    "view_routine_usage": "table_catalog name, table_schema name, table_name name, specific_catalog name, "
    "specific_schema name, specific_name name",
}

ABSENT_OBJECTS: tuple[SystemRelation, ...] = tuple(
    relation(schema, name, columns)
    for schema, relations in (("pg_catalog", _PG_CATALOG), ("information_schema", _INFORMATION_SCHEMA))
    for name, columns in relations.items()
)
