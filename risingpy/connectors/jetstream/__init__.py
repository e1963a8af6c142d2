"""NATS JetStream as a source; it needs nats-py (risingpy[nats]).

`options` reads the source's options, `consumer` fetches messages, `source` is the connector.
"""
