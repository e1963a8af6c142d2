"""Executors without state: a file per operator of the plan."""
