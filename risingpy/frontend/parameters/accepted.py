"""PostgreSQL's parameters that clients set or ask for, and that mean nothing here: (name, default, kind).

Values are checked and remembered, as PostgreSQL would show them, and have no effect; a notice of SET says so. Those of
kind `read_only` tell what a client may want to know. Defaults and ranges are PostgreSQL 15's.
"""

from __future__ import annotations

from risingpy.frontend.parameters import kinds

_MOST = 2**31 - 1

# fmt: off
ACCEPTED: tuple[tuple[str, str, kinds.Check], ...] = (
    ("array_nulls", "on", kinds.only("on", "true", "1")),
    ("backslash_quote", "safe_encoding", kinds.one_of("safe_encoding", "on", "off")),
    ("client_connection_check_interval", "0", kinds.amount),
    ("commit_delay", "0", kinds.integer(0, 100_000)),
    ("constraint_exclusion", "partition", kinds.one_of("partition", "on", "off")),
    ("cpu_index_tuple_cost", "0.005", kinds.amount),
    ("cpu_operator_cost", "0.0025", kinds.amount),
    ("cpu_tuple_cost", "0.01", kinds.amount),
    ("cursor_tuple_fraction", "0.1", kinds.amount),
    ("deadlock_timeout", "1s", kinds.amount),
    ("default_statistics_target", "100", kinds.integer(1, 10_000)),
    ("default_text_search_config", "pg_catalog.simple", kinds.text),
    ("default_toast_compression", "pglz", kinds.one_of("pglz", "lz4")),
    ("effective_cache_size", "4GB", kinds.amount),
    ("effective_io_concurrency", "1", kinds.integer(0, 1000)),
    *((f"enable_{name}", "on", kinds.on_off) for name in (
        "async_append", "bitmapscan", "gathermerge", "hashagg", "hashjoin", "incremental_sort", "indexonlyscan",
        "indexscan", "material", "memoize", "mergejoin", "nestloop", "parallel_append", "parallel_hash",
        "partition_pruning", "seqscan", "sort", "tidscan")),
    ("enable_partitionwise_aggregate", "off", kinds.on_off),
    ("enable_partitionwise_join", "off", kinds.on_off),
    ("escape_string_warning", "on", kinds.on_off),
    ("from_collapse_limit", "8", kinds.integer(1, _MOST)),
    ("geqo", "on", kinds.on_off),
    ("geqo_threshold", "12", kinds.integer(2, _MOST)),
    ("hash_mem_multiplier", "2", kinds.amount),
    ("in_hot_standby", "off", kinds.read_only),
    ("jit_above_cost", "100000", kinds.amount),
    ("join_collapse_limit", "8", kinds.integer(1, _MOST)),
    ("lc_collate", "C.UTF-8", kinds.read_only),
    ("lc_ctype", "C.UTF-8", kinds.read_only),
    ("lc_messages", "C", kinds.text),
    ("lc_monetary", "C", kinds.text),
    ("lc_numeric", "C", kinds.text),
    ("lc_time", "C", kinds.text),
    ("lo_compat_privileges", "off", kinds.on_off),
    ("log_min_messages", "warning", kinds.text),
    ("maintenance_work_mem", "64MB", kinds.amount),
    ("max_parallel_maintenance_workers", "2", kinds.integer(0, 1024)),
    ("max_parallel_workers", "8", kinds.integer(0, 1024)),
    ("max_parallel_workers_per_gather", "2", kinds.integer(0, 1024)),
    ("parallel_leader_participation", "on", kinds.on_off),
    ("parallel_setup_cost", "1000", kinds.amount),
    ("parallel_tuple_cost", "0.1", kinds.amount),
    ("password_encryption", "scram-sha-256", kinds.only("scram-sha-256")),
    ("plan_cache_mode", "auto", kinds.one_of("auto", "force_generic_plan", "force_custom_plan")),
    ("quote_all_identifiers", "off", kinds.on_off),
    ("random_page_cost", "4", kinds.amount),
    ("seq_page_cost", "1", kinds.amount),
    ("session_preload_libraries", "", kinds.text),
    ("synchronous_commit", "on", kinds.one_of("on", "off", "local", "remote_write", "remote_apply", "true", "false")),
    ("temp_buffers", "8MB", kinds.amount),
    ("temp_tablespaces", "", kinds.only("")),
    ("transaction_timeout", "0", kinds.only("0")),
    ("work_mem", "4MB", kinds.amount),
)
# fmt: on
