"""Sessions in which BEGIN begins nothing, as in RisingWave: each statement is committed by itself.

dbt-risingwave depends on it. Its driver, psycopg2, sends BEGIN before the first statement of a connection, and the
adapter never sends COMMIT: where BEGIN means what it says, all of its work is rolled back when it disconnects.
"""

from __future__ import annotations

from risingpy.frontend.parameters.kinds import ReadWriteTransactions
from risingpy.frontend.settings import is_on
from risingpy.frontend.statement_context import StatementContext

_SETTING = "read_write_transactions"
_DBT = "dbt"  # what dbt's adapters call themselves, unless the profile says otherwise


def begins(session: StatementContext) -> bool:
    """Whether BEGIN without READ ONLY begins a transaction in this session."""
    return session.settings.get(_SETTING) != ReadWriteTransactions.OFF


def after_set(session: StatementContext, name: str) -> None:
    """A setting was SET. If that shows dbt-risingwave, its transaction ends here, and no other one begins.

    It is known by its name and by its first statement, SET rw_implicit_flush TO true, which no other adapter sends by
    itself. Whoever has written, locked or altered something in the block keeps the block.
    """
    settings = session.settings
    if name != "rw_implicit_flush" or not is_on(settings.get(name)) or not session.scope.is_untouched:
        return
    if settings.get(_SETTING) != ReadWriteTransactions.AUTO or settings.get("application_name") != _DBT:
        return
    session.scope.commit()
    settings.set(_SETTING, (ReadWriteTransactions.OFF.value,))
    tell_none(session)


def tell_none(session: StatementContext) -> None:
    """Tells the client, as RisingWave does, that no transaction is open."""
    session.notice(
        "no transaction is open: each statement is committed by itself",
        hint=f"SET {_SETTING} TO on if BEGIN is to begin a transaction.",
    )
