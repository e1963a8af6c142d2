"""Functions that give another result each time, or wait. Views, indexes and generated columns must not call them."""

NON_DETERMINISTIC = frozenset(
    {"random", "gen_random_uuid", "clock_timestamp", "pg_sleep", "pg_sleep_for", "pg_sleep_until", "next_number"}
    | {"pg_cancel_backend", "pg_terminate_backend", "set_config"}
)
