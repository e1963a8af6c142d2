"""sqllogictest: suites of SQL with the expected answers, and the runner that checks them.

In: `.slt` files (`parser` → `records`) and a way to connect to a database (`client`). Out: a `FileResult` per
file (`results`), for people (`report`, `diff`) and for CI (`junit`). A file is run in one of four ways
(`modes`): by SELECT, by views made before the data, by views made after it, by PostgreSQL (`oracle`).
`execution` makes one pass over a file, `answers` decides what a query means in it, `lineage` where a view can
first be made, `runner` ties these together and `jobs` runs many files at once. The command `risingpy slt` and
the tests call it. It knows the database only as a client does.
"""
