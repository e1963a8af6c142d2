"""Definitions: what CREATE and ALTER say, checked and typed.

create                         CREATE TABLE, SOURCE, VIEW
generated, identity, watermark  what a column may be beside its type
webhook  the column that HTTP requests fill
index                          CREATE INDEX
alter, fields_by_name          ALTER TABLE, and what its casts do to structs
"""
