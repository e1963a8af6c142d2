-- sqlalchemy-risingwave 2.1.0 (SQLAlchemy 2.0.58)

--@ simple | first connect
BEGIN;

--@ simple | first connect
select current_schema();

--@ simple | first connect
ROLLBACK;

--@ simple | inspect.get_schema_names
BEGIN;

--@ simple | inspect.get_schema_names
SELECT pg_catalog.pg_namespace.nspname
    FROM pg_catalog.pg_namespace
    WHERE (pg_catalog.pg_namespace.nspname NOT LIKE 'pg/_' || '%' ESCAPE '/') ORDER BY pg_catalog.pg_namespace.nspname;

--@ simple | inspect.get_schema_names
ROLLBACK;

--@ simple | inspect.get_table_names
BEGIN;

--@ simple | inspect.get_table_names
SELECT tablename FROM pg_tables WHERE schemaname <> 'rw_catalog' and schemaname <> 'pg_catalog' and schemaname <> 'information_schema';

--@ simple | inspect.get_table_names
ROLLBACK;

--@ simple | inspect.get_view_names
BEGIN;

--@ simple | inspect.get_view_names
SELECT viewname FROM pg_views WHERE schemaname <> 'rw_catalog' and schemaname <> 'pg_catalog' and schemaname <> 'information_schema';

--@ simple | inspect.get_view_names
SELECT rw_catalog.rw_sources.name as source_name FROM rw_catalog.rw_sources JOIN rw_catalog.rw_schemas ON rw_catalog.rw_sources.schema_id = rw_catalog.rw_schemas.id WHERE rw_catalog.rw_schemas.name <> 'rw_catalog' and rw_catalog.rw_schemas.name <> 'pg_catalog' and rw_catalog.rw_schemas.name <> 'information_schema';

--@ simple | inspect.get_view_names
ROLLBACK;

--@ simple | inspect.has_table
BEGIN;

--@ simple | inspect.has_table
ROLLBACK;

--@ simple | inspect.get_columns
BEGIN;

--@ simple | inspect.get_columns
SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'kv';

--@ simple | inspect.get_columns
ROLLBACK;

--@ simple | inspect.get_pk_constraint
BEGIN;

--@ simple | inspect.get_pk_constraint
SELECT
                    tc.constraint_name,
                    kcu.column_name
                FROM information_schema.table_constraints AS tc
                JOIN information_schema.key_column_usage AS kcu
                  ON tc.constraint_catalog = kcu.constraint_catalog
                 AND tc.constraint_schema = kcu.constraint_schema
                 AND tc.constraint_name = kcu.constraint_name
                 AND tc.table_schema = kcu.table_schema
                 AND tc.table_name = kcu.table_name
                WHERE tc.constraint_type = 'PRIMARY KEY'
                  AND tc.table_schema = 'public'
                  AND tc.table_name = 'kv'
                ORDER BY kcu.ordinal_position;

--@ simple | inspect.get_pk_constraint
ROLLBACK;

--@ simple | inspect.get_indexes
BEGIN;

--@ simple | inspect.get_indexes
SELECT r.id as oid
                    FROM rw_catalog.rw_relations r
                    LEFT JOIN pg_catalog.pg_namespace n ON n.oid = r.schema_id
                    WHERE (pg_catalog.pg_table_is_visible(r.id))
                    AND r.name = 'kv' AND r.relation_type in
                    ('table', 'system table', 'view', 'materialized view', 'source', 'sink');

--@ simple | inspect.get_indexes
ROLLBACK;

--@ simple | inspect.get_view_definition
BEGIN;

--@ simple | inspect.get_view_definition
SELECT pg_catalog.pg_get_viewdef(pg_catalog.pg_class.oid) AS pg_get_viewdef_1
    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
    WHERE pg_catalog.pg_class.relname = 'vw' AND pg_catalog.pg_class.relkind = ANY (ARRAY['v', 'm']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog';

--@ simple | inspect.get_view_definition
ROLLBACK;
