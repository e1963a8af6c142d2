"""Decoders of messages, against independent readers."""
