"""Functions that give another answer each time, or wait: not for views, indexes, keys and generated columns."""

NON_DETERMINISTIC = frozenset(
    {"random", "gen_random_uuid", "clock_timestamp", "pg_sleep", "pg_sleep_for", "pg_sleep_until", "next_number"}
)
