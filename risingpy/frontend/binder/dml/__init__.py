"""Writes: INSERT, UPDATE, DELETE and COPY as plans whose rows the session logs."""
