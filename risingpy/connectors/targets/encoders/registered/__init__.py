"""Messages of FORMAT PLAIN and UPSERT whose schema a registry has, in Avro's and Protobuf's bytes.

wire_bytes        what both are made of: varints, numbers of fixed length, and bytes with their length; by columns
avro_schema       the Avro schema that a sink's columns have
avro_bytes        columns as the bytes of an Avro schema
avro_rows         rows of a registered schema, with its id before them
protobuf_choice   imports the next two, if Google's runtime is installed
protobuf_rows     rows of a message, with the id of its schema before them where there is a registry
protobuf_bytes    columns as the bytes of a Protobuf message
"""
