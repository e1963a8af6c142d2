"""Calls in a syntax of their own that become calls which PostgreSQL has, too."""
