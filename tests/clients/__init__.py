"""Stock tools against a server: each in an environment of its own. `make test-clients` installs and runs them.

programs/      what each tool does: a program in the tool's language, which fails if something is not as on PostgreSQL
environments   installs a tool's packages, once, below the directory that RISINGPY_CLIENTS names
test_tools     runs the programs; without RISINGPY_CLIENTS they are skipped
"""
