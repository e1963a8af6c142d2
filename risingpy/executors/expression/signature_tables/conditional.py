"""Functions about NULLs. The lines' form is in `signatures.py`."""

# fmt: off
CONDITIONAL = """
num_nulls num_nulls every… = int4
num_nonnulls num_nonnulls every… = int4
"""
