"""Changes as messages: `choice.encoder_of` picks an encoder by FORMAT and ENCODE. Encoders work by columns.

encoder        what an encoder is, and what it returns
changes        which deletes and inserts of an epoch are updates
leaves         replaces the values inside arrays, structs and maps
json_leaves    the JSON form of each type
json_objects   columns as JSON objects
plain, debezium, text   the formats
"""
