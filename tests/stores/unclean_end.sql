-- A transaction in the log, and in no epoch that committed: the process is killed after the first shard's commit.
BEGIN;
INSERT INTO orders SELECT i, i % 20, timestamp '2024-03-01', i / 2.0 FROM generate_series(1000, 1100) i;
UPDATE customers SET region = 'west' WHERE id < 6;
DELETE FROM trades WHERE id % 3 = 0;
COMMIT
