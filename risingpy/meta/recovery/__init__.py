"""Operations on a whole data directory.

Called by the server when it starts, and by the command line.

    opening   opens it for writing, in the state of its last commit
    rescale   changes the number of shards of a stopped database
    check     reads everything, and reports damage
    backup    copies a running database, and makes a data directory of the copy
"""
