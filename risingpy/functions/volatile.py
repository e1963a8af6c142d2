"""Functions that give another result each time, or wait. Indexes and generated columns must not call them.

Neither must views, but for those of `OF_ROW`: in a view their value is a function of the row.
"""

from types import MappingProxyType

SEQUENCE_CALLS = frozenset(
    {"nextval", "currval", "lastval", "setval", "pg_sequence_last_value", "sequence_position", "sequence_was_called"}
    | {"pg_get_serial_sequence"}
)
ADVISORY_CALLS = frozenset(
    {
        *(f"pg_{tried}advisory_{lock}" for tried in ("", "try_") for lock in ("lock", "xact_lock")),
        *(f"pg_{tried}advisory_{lock}_shared" for tried in ("", "try_") for lock in ("lock", "xact_lock")),
        *("pg_advisory_unlock", "pg_advisory_unlock_shared", "pg_advisory_unlock_all"),
    }
)
NON_DETERMINISTIC = frozenset(
    {"random", "gen_random_uuid", "gen_random_bytes", "clock_timestamp", "proctime"}
    | {"pg_sleep", "pg_sleep_for", "pg_sleep_until"}
    | {"pg_cancel_backend", "pg_terminate_backend", "pg_blocking_pids", "set_config", "pg_notify"}
    | SEQUENCE_CALLS
    | ADVISORY_CALLS
)
# What a view computes in place of such a call, of a seed and the key of the row.
OF_ROW = MappingProxyType({"random": "random_of_row", "gen_random_uuid": "uuid_of_row"})
NAMES_OF_SEEDED = MappingProxyType({of_row: name for name, of_row in OF_ROW.items()})
SEEDED = frozenset(NAMES_OF_SEEDED)
