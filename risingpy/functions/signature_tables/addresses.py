"""Operators and functions on inet, cidr and macaddr. The lines' form is in `signatures.py`."""

# fmt: off
ADDRESSES = """
<< inet_within inet inet = bool
<<= inet_within_equal inet inet = bool
>> inet_contains inet inet = bool
>>= inet_contains_equal inet inet = bool
&& inet_overlaps inet inet = bool
~ inet_not inet = inet
& inet_and inet inet = inet
| inet_or inet inet = inet
+ inet_add inet int8 = inet
+ inet_add_to int8 inet = inet
- inet_subtract inet int8 = inet
- inet_difference inet inet = int8
abbrev abbrev inet = text
abbrev abbrev_cidr cidr = text
broadcast broadcast inet = inet
family family inet = int4
host host inet = text
hostmask hostmask inet = inet
masklen masklen inet = int4
netmask netmask inet = inet
network network inet = cidr
set_masklen set_masklen inet int4 = inet
set_masklen set_masklen_cidr cidr int4 = cidr
inet_merge inet_merge inet inet = cidr
inet_same_family inet_same_family inet inet = bool
~ macaddr_not macaddr = macaddr
& macaddr_and macaddr macaddr = macaddr
| macaddr_or macaddr macaddr = macaddr
trunc macaddr_trunc macaddr = macaddr
"""
