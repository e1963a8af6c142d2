"""Sequences, as functions from one `MetaState` to the next.

making    CREATE and ALTER of sequences, also those of serial and identity columns
dropping  which defaults name them, and what goes with a column or a table
"""
