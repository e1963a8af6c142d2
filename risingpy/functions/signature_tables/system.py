"""Functions of the catalog: what is computed of an object's oid. The lines' form is in `signatures.py`.

An `oid` or a `regclass` is a bigint of that name. The SQL of each is in `evaluation/sql/catalog.py`.
Those that end statements of others are in `topics/backends.py`, those about stored values in `topics/storage_facts.py`.
"""

# fmt: off
SYSTEM = """
format_type format_type oid = TEXT | oid int4 = TEXT
pg_table_is_visible pg_table_is_visible oid = bool
pg_get_viewdef pg_get_viewdef regclass = TEXT
pg_get_viewdef pg_get_viewdef_pretty regclass bool = TEXT
pg_get_viewdef pg_get_viewdef_wrapped regclass int4 = TEXT
obj_description obj_description oid = TEXT | oid text = TEXT
shobj_description shobj_description oid text = TEXT
col_description col_description oid int4 = TEXT
pg_get_constraintdef pg_get_definition oid = TEXT
pg_get_constraintdef pg_get_shown_definition oid bool = TEXT
pg_get_indexdef pg_get_definition oid = TEXT
pg_get_indexdef pg_get_indexdef_column oid int4 bool = TEXT
pg_get_function_result pg_get_function_result oid = TEXT
pg_get_function_arguments pg_get_function_arguments oid = TEXT
pg_get_function_identity_arguments pg_get_function_identity_arguments oid = TEXT
pg_get_functiondef pg_get_functiondef oid = TEXT
pg_table_size pg_table_size regclass = int8
pg_indexes_size pg_indexes_size regclass = int8
pg_total_relation_size pg_total_relation_size regclass = int8
pg_relation_size pg_relation_size regclass = int8 | regclass text = int8
pg_database_size pg_database_size oid = int8 | text = int8
pg_cancel_backend pg_cancel_backend int4 = bool
pg_blocking_pids pg_blocking_pids int4 = int4[]
pg_notify pg_notify text text = void
pg_advisory_lock pg_advisory_lock int8 = void | int4 int4 = void
pg_advisory_lock_shared pg_advisory_lock_shared int8 = void | int4 int4 = void
pg_advisory_xact_lock pg_advisory_xact_lock int8 = void | int4 int4 = void
pg_advisory_xact_lock_shared pg_advisory_xact_lock_shared int8 = void | int4 int4 = void
pg_try_advisory_lock pg_try_advisory_lock int8 = bool | int4 int4 = bool
pg_try_advisory_lock_shared pg_try_advisory_lock_shared int8 = bool | int4 int4 = bool
pg_try_advisory_xact_lock pg_try_advisory_xact_lock int8 = bool | int4 int4 = bool
pg_try_advisory_xact_lock_shared pg_try_advisory_xact_lock_shared int8 = bool | int4 int4 = bool
pg_advisory_unlock pg_advisory_unlock int8 = bool | int4 int4 = bool
pg_advisory_unlock_shared pg_advisory_unlock_shared int8 = bool | int4 int4 = bool
pg_advisory_unlock_all pg_advisory_unlock_all = void
pg_terminate_backend pg_terminate_backend int4 = bool | int4 int8 = bool
rw_vnode rw_vnode int4 every… = int2
pg_column_size pg_column_size_1 bool = int4
pg_column_size pg_column_size_2 int2 = int4
pg_column_size pg_column_size_4 int4 = int4 | float4 = int4 | date = int4
pg_column_size pg_column_size_8 int8 = int4 | float8 = int4 | timestamp = int4 | timestamptz = int4 | time = int4
pg_column_size pg_column_size_8 timestamp_ns = int4
pg_column_size pg_column_size_16 interval = int4 | uuid = int4
pg_column_size pg_column_size_varying text = int4 | bytea = int4
pg_size_pretty pg_size_pretty int8 = TEXT | numeric = TEXT
"""
# fmt: on
