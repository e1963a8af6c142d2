-- dbt-risingwave / sqlalchemy-risingwave [SOURCE]

--@ simple | 
SET RW_IMPLICIT_FLUSH TO true;

--@ simple | 
SET streaming_parallelism = 4;

--@ simple | 
select 'dev' as database, rw_relations.name as name, rw_schemas.name as schema,
  FIRST_VALUE(CASE WHEN relation_type = 'materialized view' THEN 'materialized_view' else relation_type END order by relation_type desc) AS type
from rw_relations join rw_schemas on schema_id=rw_schemas.id
where rw_schemas.name not in ('rw_catalog', 'information_schema', 'pg_catalog')
and relation_type in ('table', 'view', 'source', 'sink', 'materialized view', 'index')
AND rw_schemas.name = 'public'
group by database, name, schema;

--@ simple | 
create view if not exists "dev"."public"."v1" as select 1;

--@ simple | 
create sink if not exists "dev"."public"."s1" from "dev"."public"."mv1" with (connector = 'kafka', topic = 't') format plain encode json (force_append_only = 'true');

--@ simple | 
alter view "dev"."public"."v1" swap with "dev"."public"."v1_dbt_zero_down_tmp_x";

--@ simple | 
alter materialized view "dev"."public"."mv1" swap with "dev"."public"."mv1_dbt_zero_down_tmp_x";

--@ simple | 
drop source if exists "dev"."public"."s" cascade;  drop sink if exists "dev"."public"."s1" cascade;

--@ simple | 
delete from "dev"."public"."t1";

--@ simple | 
SHOW PROCESSLIST;  KILL '1:2';

--@ simple | 
SELECT rw_catalog.rw_sources.name as source_name FROM rw_catalog.rw_sources JOIN rw_catalog.rw_schemas ON rw_catalog.rw_sources.schema_id = rw_catalog.rw_schemas.id WHERE rw_catalog.rw_schemas.name <> 'rw_catalog' and rw_catalog.rw_schemas.name <> 'pg_catalog' and rw_catalog.rw_schemas.name <> 'information_schema';

--@ simple | 
SELECT r.id as oid FROM rw_catalog.rw_relations r LEFT JOIN pg_catalog.pg_namespace n ON n.oid = r.schema_id WHERE (pg_catalog.pg_table_is_visible(r.id)) AND r.name = 'kv' AND r.relation_type in ('table', 'system table', 'view', 'materialized view', 'source', 'sink');

--@ simple | 
select i.relname, a.attname from pg_catalog.pg_class t join pg_catalog.pg_index ix on t.oid = ix.indrelid join pg_catalog.pg_class i on i.oid = ix.indexrelid join pg_catalog.pg_attribute a on t.oid = a.attrelid and a.attnum = ANY(ix.indkey)where t.oid = {oid:kv};

--@ simple | 
SELECT matviewname FROM pg_matviews WHERE schemaname <> 'rw_catalog' and schemaname <> 'pg_catalog';
