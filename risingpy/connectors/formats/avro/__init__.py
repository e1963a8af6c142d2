"""ENCODE AVRO: schemas become programs, which a kernel runs over the bytes of messages into Arrow columns.

schema     a schema as types                program   a schema as instructions of the kernel
kernel     the machine of the instructions  arrays    what the kernel has written, as Arrow arrays
reader     payloads with and without the id of their schema, by columns
"""
