"""Files as sources: those of a directory (`posix_fs`), and objects of a bucket (`s3`). A file is a split.

store                      what both kinds of storage can do: list files, and read bytes of one
directory, bucket          the two
patterns, listing          which files there are, and where each ends
file_bytes                 bytes of a file by position, which of a compressed one are those of its content
lines                      ENCODE CSV and JSON: a line is a message, and its first byte's place is its position
parquet, parquet_columns   ENCODE PARQUET: rows by number, columns by name
connector, posix_fs, s3    the connectors
"""
