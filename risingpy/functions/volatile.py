"""Functions that give another result each time, or wait. Views, indexes and generated columns must not call them."""

SEQUENCE_CALLS = frozenset(
    {"nextval", "currval", "lastval", "setval", "pg_sequence_last_value", "sequence_position", "sequence_was_called"}
    | {"pg_get_serial_sequence"}
)
NON_DETERMINISTIC = frozenset(
    {"random", "gen_random_uuid", "clock_timestamp", "pg_sleep", "pg_sleep_for", "pg_sleep_until"}
    | {"pg_cancel_backend", "pg_terminate_backend", "set_config"}
    | SEQUENCE_CALLS
)
