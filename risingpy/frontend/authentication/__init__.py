"""Who may connect: what checks passwords, the rules of pg_hba, and how much guessing is allowed.

saslprep       a password as SCRAM hashes it (RFC 4013)
scram_secret   what is stored of a password, from which it cannot be computed
scram          the server's side of the SCRAM-SHA-256 exchange, without I/O (RFC 5802, RFC 7677)
applicant      what is known of a client before anybody has checked it, and how the door talks to it
rules          which method lets whom in, in pg_hba's words
guessing       failed logins by address and user, and how long the next one must wait
door           the decision about one client: `wire/` asks it, and it asks the catalog

Nothing here has a socket, and only `door` knows the catalog.
"""
