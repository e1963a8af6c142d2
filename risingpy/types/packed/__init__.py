"""Types whose values are packed into byte strings or texts that order, and are equal, as SQL says of the values.

network_address   inet and cidr
float_vector      vector(n)
bit_string        bit(n) and bit varying(n)
"""
