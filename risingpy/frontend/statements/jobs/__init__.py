"""Statements about jobs in creation: CANCEL JOBS, WAIT, ALTER … SET BACKFILL_RATE_LIMIT.

`creation.py` is what CREATE MATERIALIZED VIEW, CREATE INDEX and CREATE SINK use.
"""
