"""Operations on a whole data directory.

Called by the server when it starts, and by the command line.

    opening          opens it for writing, in the state of its last commit
    present_formats  what an earlier version wrote is written in the present formats
    upgrade          opens a stopped database for that, and says which formats it has
    rescale          changes the number of shards of a stopped database; copies the rows for a running one
    check            reads everything, and reports damage
    backup           copies a running database, and makes a data directory of the copy
"""
