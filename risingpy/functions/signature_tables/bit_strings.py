"""Operators and functions on bit strings. The lines' form is in `signatures.py`."""

# fmt: off
BIT_STRINGS = """
& bits_and bit bit = bit
| bits_or bit bit = bit
# bits_xor bit bit = bit
~ bits_not bit = bit
<< bits_shift_left bit int4 = bit
>> bits_shift_right bit int4 = bit
|| concat_op varbit varbit = varbit
length length bit = int4
bit_length length bit = int4
octet_length octet_length_bits bit = int4
substring substring bit int4 = bit | bit int4 int4 = bit
overlay overlay bit bit int4 = bit | bit bit int4 int4 = bit
position position_of_bits bit bit = int4
get_bit get_bit_of_bits bit int4 = int4
set_bit set_bit_of_bits bit int4 int4 = bit
bit_count bit_count_bits bit = int8
"""
