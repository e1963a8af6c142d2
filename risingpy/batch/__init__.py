"""Queries are answered: planned as data when they are prepared, then run against one committed epoch.

sql/  a plan as DuckDB SQL
"""
