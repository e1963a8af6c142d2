"""Sequences, and comments on whatever there is, as functions from one `MetaState` to the next.

sequences         CREATE and ALTER of sequences, also those of serial and identity columns
needed_sequences  which defaults name them, and what goes with a column or a table
comments          COMMENT ON
"""
