"""External sources of rows. `file_source` reads files. Called by meta and by tasks."""
