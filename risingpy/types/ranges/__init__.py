"""Range types: int4range, int8range, numrange, daterange, tsrange, tstzrange; and a multirange type of each.

bounds             the bytes of a range, and a column of them as two columns of bounds, which compare as SQL does
elements           the types of the bounds, and their values as keys within the bytes
forms              the text and the binary form
multiranges        the bytes of several ranges, and what is common to several columns of them
multirange_forms   the text and the binary form
"""
