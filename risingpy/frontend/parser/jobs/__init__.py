"""Statements about jobs in creation: `trees.py` has their trees, `parse.py` makes them."""
