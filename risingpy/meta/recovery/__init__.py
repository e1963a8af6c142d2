"""What is done with a data directory as a whole.

Called by the server when it starts, and by the command line.

    opening   opens it for writing, as it was at its last commit
    rescale   gives a stopped database another number of shards
    check     reads everything, and tells what is damaged
    backup    copies a running database, and makes a data directory of the copy
"""
