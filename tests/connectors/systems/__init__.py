"""Real systems for tests of connectors: each is started once a run, on 127.0.0.1, and skipped where it is missing."""
