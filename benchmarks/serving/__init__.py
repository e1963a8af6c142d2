"""Statements of many clients, by pgbench, and what runs beside them."""
