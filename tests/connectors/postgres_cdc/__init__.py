"""The PostgreSQL source, against a real PostgreSQL."""
