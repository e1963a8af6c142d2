"""Who serves a connection: the event loop waits for clients at rest, a worker's thread serves one that has work."""
