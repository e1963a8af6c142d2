"""BEGIN, COMMIT, ROLLBACK, savepoints, LOCK TABLE, and messages between sessions, which belong to transactions."""
