"""The truth of a database with `--state`: a journal in shared storage, with what it names.

    j/<slot>             one order of log blocks, changes of the meta store, epochs, and of what replaces what
    t/<term>             who leads: the server with the greatest term
    d/<epoch>-<stage>.<attempt>-<shard>   what a task's transaction has changed, if an epoch's record names it
    p/<spill>-<number>   rows of a COPY that is too large for the journal, in pieces
    s/<table>/<epoch>-…  a table's rows as of an epoch, sorted
    m/<slot>             the version as of a slot, so that a reader need not begin at the first one

A *version* is what the journal says up to a slot. Everything in a data directory is a cache of one.

    record      the bytes of j/<slot>
    entries     what is in them
    delta       the bytes of d/…, and who writes them
    version     what the records up to a slot say; the bytes of m/<slot>
    framing     the form that both have: a head in JSON, and bytes behind it
    reading     reads a version
    compaction  what should be written anew, and how
    vacuum      deletes what no kept version needs; pins keep one
    leadership  takes a term, fences the journal, knows when another server has
    journal     appends: many callers share a put
"""
