"""Every run-time parameter: its default, the values it takes, and its description in SHOW ALL."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parameters import kinds
from risingpy.frontend.parameters.accepted import ACCEPTED

SERVER_VERSION = "14.17"
VERSION_TEXT = f"PostgreSQL {SERVER_VERSION}-RisingPy-0.1.0"

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ParameterDefinition:
    """`name` is in lower case; `reported` is the name under which ParameterStatus tells the client of changes.

    `binds`: a change may alter the meaning of statements, so bound ones must be bound again. `ignored`: RisingWave
    or PostgreSQL has the parameter, and RisingPy accepts it without effect; a notice of SET says so. Only superusers
    set one that is `for_superusers`.
    """

    name: str
    default: str
    check: kinds.Check
    description: str
    reported: str | None = None
    binds: bool = False
    ignored: bool = False
    for_superusers: bool = False


def _ignored(name: str, default: str, check: kinds.Check = kinds.text) -> ParameterDefinition:
    return ParameterDefinition(name, default, check, "Accepted for RisingWave's clients; has no effect.", ignored=True)


_P = ParameterDefinition
# fmt: off
DEFINITIONS: tuple[ParameterDefinition, ...] = (
    _P("application_name", "", kinds.text, "The client's name, for monitoring.", reported="application_name"),
    _P("backfill_rate_limit", "default", kinds.rate_limit,
       "Rows a second that a new view, index or sink reads of its upstreams; 0: none, default: as fast as it can."),
    _P("background_ddl", "false", kinds.true_false,
       "Whether CREATE MATERIALIZED VIEW, INDEX and SINK return at once; WAIT waits for them."),
    _P("bytea_output", "hex", kinds.only("hex"), "The text form of bytea."),
    _P("client_encoding", "UTF8", kinds.encoding, "The client's character set.", reported="client_encoding"),
    _P("client_min_messages", "notice",
       kinds.one_of("debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "info", "notice", "warning",
                    "error"),
       "The least severity of messages that the client gets."),
    _P("datestyle", "ISO, MDY", kinds.date_style, "The text form of dates and times.", reported="DateStyle"),
    _P("check_function_bodies", "on", kinds.on_off, "Whether the bodies of SQL functions are checked."),
    _P("default_table_access_method", "heap", kinds.only("heap"), "How tables are stored, in PostgreSQL's word."),
    _P("default_tablespace", "", kinds.only(""), "There is one place for all tables."),
    _P("default_transaction_deferrable", "off", kinds.on_off, "As transaction_deferrable, of transactions to come."),
    _P("default_transaction_isolation", "read committed", kinds.isolation,
       "As transaction_isolation, of transactions to come."),
    _P("default_transaction_read_only", "off", kinds.on_off,
       "Whether transactions may not write that do not say READ WRITE, and statements outside of transactions."),
    _P("extra_float_digits", "1", kinds.integer(-15, 3), "Floats are always shown exactly."),
    _P("hnsw.ef_search", "40", kinds.integer(1, 1000),
       "How many near vectors an index USING hnsw looks at in a search."),
    _P("idle_in_transaction_session_timeout", "0", kinds.milliseconds,
       "Milliseconds after which a session that idles in a transaction is ended (25P03); 0: never."),
    _P("idle_session_timeout", "0", kinds.milliseconds,
       "Milliseconds after which a session that idles outside of a transaction is ended (57P05); 0: never."),
    _P("integer_datetimes", "on", kinds.read_only, "Dates and times are whole microseconds."),
    _P("intervalstyle", "postgres", kinds.only("postgres"), "The text form of intervals.", reported="IntervalStyle"),
    _P("is_superuser", "on", kinds.read_only, "Whether the current role may do everything.",
       reported="is_superuser"),
    _P("jit", "off", kinds.on_off, "Accepted for drivers that switch it; has no effect."),
    _P("lock_timeout", "0", kinds.milliseconds,
       "Milliseconds that a statement may wait for a lock (55P03); 0: any time."),
    _P("log_min_duration_statement", "-1", kinds.least_duration,
       "Milliseconds from which on a statement is logged with its text; 0: all, -1: none.", for_superusers=True),
    _P("log_statement", "none", kinds.one_of("none", "ddl", "mod", "all"),
       "Which statements are logged when they begin: none, ddl, mod (ddl and changes of rows) or all.",
       for_superusers=True),
    _P("max_concurrent_queries", "8", kinds.read_only,
       "Queries that compute at a time; others wait for their turn. The server's --max-concurrent-queries."),
    _P("max_connections", "1000", kinds.read_only, "Clients at once: the server's --max-connections."),
    _P("max_identifier_length", "63", kinds.read_only, "The longest name that clients should make."),
    _P("max_index_keys", "32", kinds.read_only, "Told to clients that make room for an index's columns."),
    _P("query_mode", "auto", kinds.only("auto", "local"), "How SELECT runs: in the server's process."),
    _P("read_write_transactions", kinds.ReadWriteTransactions.AUTO.value, kinds.one_of(*kinds.ReadWriteTransactions),
       "Whether BEGIN without READ ONLY begins a transaction; auto: on, but off for dbt-risingwave."),
    _P("role", "none", kinds.text, "The role that the session acts as, if it is not its user.", binds=True),
    _P("row_security", "on", kinds.on_off, "Accepted; there are no row policies."),
    _P("rw_implicit_flush", "false", kinds.true_false,
       "Whether each INSERT, UPDATE, DELETE and COPY returns only when every view has its rows."),
    _P("search_path", '"$user", public', kinds.search_path, "Where names without a schema are looked for.",
       binds=True),
    _P("server_encoding", "UTF8", kinds.read_only, "The database's character set."),
    _P("server_version", SERVER_VERSION, kinds.read_only, "The PostgreSQL version that the server is like."),
    _P("server_version_num", "140017", kinds.read_only, "The same as a number."),
    _P("session_authorization", "root", kinds.text, "The session's user.",
       reported="session_authorization", binds=True),
    _P("standard_conforming_strings", "on", kinds.only("on", "true", "1"), "Backslashes in '…' are ordinary.",
       reported="standard_conforming_strings"),
    _P("statement_memory", "0", kinds.memory,
       "The memory that a statement may take, such as 512MB; 0: an eighth of the server's. Past it: 53200."),
    _P("statement_timeout", "0", kinds.milliseconds, "Milliseconds after which a statement is cancelled; 0: never."),
    _P("synchronize_seqscans", "on", kinds.on_off, "Accepted; has no effect."),
    _P("tcp_keepalives_count", "0", kinds.integer(0, 127),
       "Probes without an answer after which a connection is given up; 0: the system's number."),
    _P("tcp_keepalives_idle", "0", kinds.integer(0, 32_767),
       "Seconds of silence after which the client is probed; 0: the system's number."),
    _P("tcp_keepalives_interval", "0", kinds.integer(0, 32_767), "Seconds between two probes; 0: the system's number."),
    _P("tcp_user_timeout", "0", kinds.milliseconds,
       "Milliseconds after which a connection is given up that acknowledges nothing; 0: the system's number."),
    _P("timezone", "UTC", kinds.time_zone, "The zone in which timestamptz is read and shown.",
       reported="TimeZone", binds=True),
    _P("transaction_deferrable", "off", kinds.on_off, "What the client asked for; no transaction has to wait here."),
    _P("transaction_isolation", "read committed", kinds.isolation,
       "What the client asked for; each level is read committed here: every query reads one committed epoch."),
    _P("transaction_read_only", "off", kinds.on_off, "Whether this transaction may write."),
    _P("visibility_mode", kinds.Visibility.STRICT.value, kinds.visibility,
       "Which writes SELECT waits for: strict, read_your_writes or checkpoint."),
    _ignored("batch_parallelism", "default"),
    _ignored("create_compaction_group_for_mv", "false", kinds.true_false),
    _ignored("enable_join_ordering", "true", kinds.true_false),
    _ignored("enable_share_plan", "true", kinds.true_false),
    _ignored("enable_two_phase_agg", "true", kinds.true_false),
    _ignored("force_two_phase_agg", "false", kinds.true_false),
    _ignored("sink_decouple", "default"),
    _ignored("streaming_enable_delta_join", "false", kinds.true_false),
    _ignored("streaming_max_parallelism", "256", kinds.integer(1, _MOST)),
    _ignored("streaming_parallelism", "default"),
    _ignored("streaming_parallelism_for_materialized_view", "default"),
    _ignored("streaming_parallelism_for_table", "default"),
    _ignored("streaming_rate_limit", "-1", kinds.integer(-1, _MOST)),
    _ignored("streaming_use_arrangement_backfill", "true", kinds.true_false),
    _ignored("streaming_use_shared_source", "true", kinds.true_false),
    _ignored("streaming_use_snapshot_backfill", "true", kinds.true_false),
    _P("xmloption", "content", kinds.one_of("content", "document"), "Accepted for pg_dump; there is no type xml."),
    *(_P(name, default, check, "Accepted for PostgreSQL's clients; has no effect.", ignored=True)
      for name, default, check in ACCEPTED),
)
# fmt: on

BY_NAME: dict[str, ParameterDefinition] = {definition.name: definition for definition in DEFINITIONS}
ALIASES = {"implicit_flush": "rw_implicit_flush"}


def parameter_key(name: str) -> str:
    """The name by which a parameter is found: in lower case, and its newest one.

    RisingWave takes its own with `rw_` before them, too.
    """
    lowered = name.lower()
    bare = lowered.removeprefix("rw_")
    return bare if lowered not in BY_NAME and bare in BY_NAME else ALIASES.get(lowered, lowered)
