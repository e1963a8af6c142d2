"""Executors driven by watermarks, and the one that gives the time.

bound               the value below which a column has no further changes, from its watermarks
watermark_filter    drops late rows, and moves the watermark
eowc_sort           holds rows until the watermark has passed them
passed_rows         deletes a join's rows that can match nothing more
expiring_rows       deletes the rows of a table WITH TTL that the watermark has passed
aging_rows          deletes the rows of a table or view with ttl that are older, and tells readers
young_rows          stores the rows that a view with ttl reads
retained_rows       deletes the rows of a table with retention_seconds that are older
oldest_rows         until when no row ends by the clock, so that most epochs need not look
now                 gives the time of the epoch
"""
