"""Relations of information_schema about what RisingPy does not have, with PostgreSQL 15's columns and no rows.

`absent_objects` has the others.
"""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemRelation, relation

_COLUMNS = {
    "_pg_foreign_data_wrappers": "oid oid, fdwowner oid, fdwoptions _text, foreign_data_wrapper_catalog name, "
    "foreign_data_wrapper_name name, authorization_identifier name, foreign_data_wrapper_language text",
    "_pg_foreign_servers": "oid oid, srvoptions _text, foreign_server_catalog name, foreign_server_name name, "
    "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, foreign_server_type text, "
    "foreign_server_version text, authorization_identifier name",
    "_pg_foreign_table_columns": "nspname name, relname name, attname name, attfdwoptions _text",
    "_pg_foreign_tables": "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, "
    "ftoptions _text, foreign_server_catalog name, foreign_server_name name, authorization_identifier name",
    "_pg_user_mappings": "oid oid, umoptions _text, umuser oid, authorization_identifier name, "
    "foreign_server_catalog name, foreign_server_name name, srvowner name",
    "collation_character_set_applicability": "collation_catalog name, collation_schema name, collation_name name, "
    "character_set_catalog name, character_set_schema name, character_set_name name",
    "column_udt_usage": "udt_catalog name, udt_schema name, udt_name name, table_catalog name, table_schema name, "
    "table_name name, column_name name",
    "data_type_privileges": "object_catalog name, object_schema name, object_name name, object_type text, "
    "dtd_identifier name",
    "element_types": "object_catalog name, object_schema name, object_name name, object_type text, "
    "collection_type_identifier name, data_type text, character_maximum_length int4, character_octet_length int4, "
    "character_set_catalog name, character_set_schema name, character_set_name name, collation_catalog name, "
    "collation_schema name, collation_name name, numeric_precision int4, numeric_precision_radix int4, "
    "numeric_scale int4, datetime_precision int4, interval_type text, interval_precision int4, domain_default text, "
    "udt_catalog name, udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, "
    "maximum_cardinality int4, dtd_identifier name",
    "foreign_data_wrappers": "foreign_data_wrapper_catalog name, foreign_data_wrapper_name name, "
    "authorization_identifier name, library_name text, foreign_data_wrapper_language text",
    "foreign_servers": "foreign_server_catalog name, foreign_server_name name, foreign_data_wrapper_catalog name, "
    "foreign_data_wrapper_name name, foreign_server_type text, foreign_server_version text, "
    "authorization_identifier name",
    "routine_column_usage": "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, "
    "routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name, column_name name",
    "routine_routine_usage": "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, "
    "routine_schema name, routine_name name",
    "routine_sequence_usage": "specific_catalog name, specific_schema name, specific_name name, "
    "routine_catalog name, routine_schema name, routine_name name, sequence_catalog name, sequence_schema name, "
    "sequence_name name",
    "routine_table_usage": "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, "
    "routine_schema name, routine_name name, table_catalog name, table_schema name, table_name name",
    "sql_features": "feature_id text, feature_name text, sub_feature_id text, sub_feature_name text, "
    "is_supported text, is_verified_by text, comments text",
    "sql_implementation_info": "implementation_info_id text, implementation_info_name text, integer_value int4, "
    "character_value text, comments text",
    "sql_parts": "feature_id text, feature_name text, is_supported text, is_verified_by text, comments text",
    "sql_sizing": "sizing_id int4, sizing_name text, supported_value int4, comments text",
    "view_column_usage": "view_catalog name, view_schema name, view_name name, table_catalog name, "
    "table_schema name, table_name name, column_name name",
}

ABSENT_STANDARD: tuple[SystemRelation, ...] = tuple(
    relation("information_schema", name, columns) for name, columns in _COLUMNS.items()
)
