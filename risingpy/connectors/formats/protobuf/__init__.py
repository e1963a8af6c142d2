"""ENCODE PROTOBUF, on Google's runtime (the extra `protobuf`): nothing else here imports it.

descriptors   a set of descriptors as a message class, and the SQL types of its fields
reader        payloads as columns
"""
