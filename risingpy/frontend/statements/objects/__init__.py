"""Statements about objects that are no relations with rows: sequences, comments on whatever there is, constraints."""
