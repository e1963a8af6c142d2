"""Types: which one is meant, which turns into which, and which overload a call means. PostgreSQL's rules.

type_names                  from `character varying (3)` to a SqlType
literals, constants         values as they are written, and of a type
coercion, system_casts      casts, their contexts, and the common type of several
overloads, signature_calls  from a name and its arguments' types to a Call of the signature table
parameters                  the types of a prepared statement's parameters, found out on the way
"""
