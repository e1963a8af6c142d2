"""Hostile clients beside a well-behaved one, against a real server with little memory: see docs/reliability.md."""
