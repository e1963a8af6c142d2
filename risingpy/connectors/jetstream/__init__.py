"""NATS JetStream: `options` reads a source's options, `source` is its connector. It needs nats-py (risingpy[nats])."""
