"""Statements about jobs in creation: CANCEL JOBS, WAIT, ALTER … SET BACKFILL_RATE_LIMIT; and KILL.

`creation.py` is what CREATE MATERIALIZED VIEW, CREATE INDEX and CREATE SINK use, `new_view.py` a materialized view that
is to be made.
"""
