"""Literals that are read at once, without a tree for each: long lists, and plain constants among expressions."""
