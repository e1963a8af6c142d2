"""Aggregate calls with their state tables: of a value, of the input in order, of distinct arguments, of users' code."""
