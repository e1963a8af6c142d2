"""Numbers: numeric beyond 38 digits, rw_int256, and mathematics.

wide_numbers, wide_scales, wide_kernels, wide_sum_kernels   numeric (`types.wide_numeric`)
large_integers, int256_kernels                              rw_int256
mathematical, numeric_analysis                              functions on double precision, and on numeric
"""
