-- pandas 3.1.1 via SQLAlchemy

--@ simple | read_sql(query)
BEGIN;

--@ simple | read_sql(query)
select * from kv limit 2;

--@ simple | read_sql(query)
ROLLBACK;

--@ simple | read_sql_table
BEGIN;

--@ simple | read_sql_table
SELECT pg_catalog.pg_class.oid, pg_catalog.pg_class.relname, pg_catalog.pg_class.reloptions, NULL AS relhasoids, CASE WHEN (pg_catalog.pg_am.amname IS NOT NULL AND pg_catalog.pg_am.amname != current_setting('default_table_access_method')) THEN pg_catalog.pg_am.amname ELSE NULL END AS access_method_name, pg_catalog.pg_tablespace.spcname AS tablespace_name, inherits.parent_table_names
    FROM pg_catalog.pg_class LEFT OUTER JOIN pg_catalog.pg_am ON pg_catalog.pg_class.relam = pg_catalog.pg_am.oid LEFT OUTER JOIN (SELECT pg_catalog.pg_inherits.inhrelid AS inhrelid, array_agg(pg_catalog.pg_class.relname ORDER BY pg_catalog.pg_inherits.inhseqno) AS parent_table_names
    FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_class ON pg_catalog.pg_inherits.inhparent = pg_catalog.pg_class.oid GROUP BY pg_catalog.pg_inherits.inhrelid) AS inherits ON pg_catalog.pg_class.oid = inherits.inhrelid LEFT OUTER JOIN pg_catalog.pg_tablespace ON pg_catalog.pg_tablespace.oid = pg_catalog.pg_class.reltablespace JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
    WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog' AND pg_catalog.pg_class.relname IN ('kv');

--@ simple | read_sql_table
SELECT kv.k, kv.v, kv.n FROM kv;

--@ simple | read_sql_table
COMMIT;

--@ simple | to_sql(replace)
BEGIN;

--@ simple | to_sql(replace)
DROP TABLE pdt;

--@ simple | to_sql(replace)
CREATE TABLE pdt ( a BIGINT, b TEXT );

--@ simple | to_sql(replace)
INSERT INTO pdt (a, b) VALUES (1, 'x');

--@ simple | to_sql(replace)
COMMIT;

--@ simple | to_sql(append, method=multi)
BEGIN;

--@ simple | to_sql(append, method=multi)
INSERT INTO pdt (a, b) VALUES (1, 'x');

--@ simple | to_sql(append, method=multi)
COMMIT;
