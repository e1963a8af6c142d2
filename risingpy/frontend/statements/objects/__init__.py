"""Statements about objects that are no relations with rows: sequences, and comments on whatever there is."""
