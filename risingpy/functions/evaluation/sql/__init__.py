"""Calls of functions as the text of DuckDB SQL: a module a family, `functions` finds the one of a call."""
