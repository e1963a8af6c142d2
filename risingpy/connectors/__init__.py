"""Sources: where rows come from that no client writes. `file_source` reads files; called by meta and by tasks."""
