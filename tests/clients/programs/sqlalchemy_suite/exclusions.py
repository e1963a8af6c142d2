"""What SQLAlchemy's suite may ask of the server: all that it asks of PostgreSQL, but for what docs/clients.md names.

`requirements` is the file that SQLAlchemy judges its own PostgreSQL with; its source distribution has it.
"""

from requirements import DefaultRequirements
from sqlalchemy.testing import exclusions


class Requirements(DefaultRequirements):
    """PostgreSQL's, less what RisingPy does not have."""

    duplicate_key_raises_integrity_error = exclusions.closed()  # a row with a key that is there replaces the other one
    isolation_level = exclusions.closed()  # there is one
    time_timezone = exclusions.closed()  # no type `time with time zone`
    column_collation_reflection = exclusions.closed()  # texts are ordered by code point
    materialized_views = exclusions.closed()  # the test reads one in the transaction that makes it
    datetime_interval = exclusions.closed()  # intervals have 6 decimals, and interval(9) is refused
    window_range = exclusions.closed()  # these tests expect rows in an order that they do not ask for
    window_range_numeric = exclusions.closed()
