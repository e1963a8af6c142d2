"""What watermarks drive, and the time.

bound               what the watermarks say of a column in an epoch
watermark_filter    drops rows that come too late
eowc_sort           holds rows until the watermark has passed them
passed_rows         deletes rows that match nothing more
now                 the time of the epoch
"""
