-- SQLAlchemy 2.1.9 + asyncpg

--@ simple | connect + get_table_names
BEGIN;

--@ extended | connect + get_table_names
select pg_catalog.version();

--@ extended | connect + get_table_names
select current_schema();

--@ extended | connect + get_table_names
show transaction isolation level;

--@ extended | connect + get_table_names
show standard_conforming_strings;

--@ simple | connect + get_table_names
ROLLBACK;

--@ simple | connect + get_table_names
BEGIN;

--@ extended | connect + get_table_names
select 1;

--@ extended ["r", "p", "t", "pg_catalog"] | connect + get_table_names
SELECT pg_catalog.pg_class.relname
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
    WHERE pg_catalog.pg_class.relkind = ANY (ARRAY[$1::VARCHAR, $2::VARCHAR]) AND pg_catalog.pg_class.relpersistence != $3::CHAR AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != $4::VARCHAR;

--@ simple | connect + get_table_names
ROLLBACK;
