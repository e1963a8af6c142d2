"""CREATE, ALTER and DROP of types.

trees      the statements
parsing    those of types from their tokens
domains    those of domains
composites those of rows' types
"""
