"""Rows of portals that wait for their client: kept to be read backwards, or in a file instead of a query."""
