"""Functions about NULLs, and of the system. The lines' form is in `signatures.py`."""

# fmt: off
CONDITIONAL = """
num_nulls num_nulls every… = int4
num_nonnulls num_nonnulls every… = int4
booleq eq bool bool = bool
boolne ne bool bool = bool
gen_random_uuid gen_random_uuid = uuid
uuid_generate_v4 gen_random_uuid = uuid
uuid_generate_v3 uuid_generate_v3 uuid text = uuid
uuid_generate_v5 uuid_generate_v5 uuid text = uuid
"""
