"""Functions about NULLs, and of the system. The lines' form is in `signatures.py`."""

# fmt: off
CONDITIONAL = """
num_nulls num_nulls every… = int4
num_nonnulls num_nonnulls every… = int4
gen_random_uuid gen_random_uuid = uuid
"""
