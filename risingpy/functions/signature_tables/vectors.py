"""Operators and functions on vectors: pgvector's, and RisingWave's names of them. The lines' form: `signatures.py`."""

# fmt: off
VECTORS = """
<-> l2_distance vector vector = float8
<#> negative_inner_product vector vector = float8
<=> cosine_distance vector vector = float8
<+> l1_distance vector vector = float8
+ vector_add vector vector = vector
- vector_subtract vector vector = vector
* vector_multiply vector vector = vector
|| vector_concat vector vector = vector
l2_distance l2_distance vector vector = float8
inner_product inner_product vector vector = float8
cosine_distance cosine_distance vector vector = float8
l1_distance l1_distance vector vector = float8
vector_dims vector_dims vector = int4
vector_norm vector_norm vector = float8
l2_norm vector_norm vector = float8
l2_normalize l2_normalize vector = vector
subvector subvector vector int4 int4 = vector
binary_quantize binary_quantize vector = bit
"""
