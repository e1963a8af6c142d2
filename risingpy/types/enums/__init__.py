"""Types that users create.

enum_type       what an enum is: labels in an order, each with a number
enumeration     the text and the binary form of an enum's values
composite_type  a row's type that has a name
"""
