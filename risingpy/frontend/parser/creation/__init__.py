"""The grammar of CREATE, where it is more than a few lines; `ddl.py` calls these.

index              CREATE INDEX
function           CREATE FUNCTION and AGGREGATE, and DROP of them
identity_options   the options of GENERATED … AS IDENTITY
"""
