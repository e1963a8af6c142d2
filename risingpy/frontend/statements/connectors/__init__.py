"""Statements about sources and sinks: what connects the database with other systems."""
