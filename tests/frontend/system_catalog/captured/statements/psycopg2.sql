-- psycopg2 2.9.13

--@ simple | connect+select+commit
BEGIN;

--@ simple | connect+select+commit
select 1;

--@ simple | connect+select+commit
COMMIT;

--@ simple | register_hstore (SQLAlchemy probes HstoreAdapter.get_oids)
BEGIN;

--@ simple | register_hstore (SQLAlchemy probes HstoreAdapter.get_oids)
SELECT t.oid, typarray FROM pg_type t JOIN pg_namespace ns ON typnamespace = ns.oid WHERE typname = 'hstore';

--@ simple | register_hstore (SQLAlchemy probes HstoreAdapter.get_oids)
ROLLBACK;

--@ simple | set_session
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;

--@ simple | set_session
select 1;
