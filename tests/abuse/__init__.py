"""Hostile clients and a well-behaved one use a real server with little memory together: see docs/reliability.md."""
