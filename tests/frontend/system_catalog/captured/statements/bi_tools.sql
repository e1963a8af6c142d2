-- DBeaver, Grafana, Metabase, Superset, pgAdmin

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SET extra_float_digits = 3;  SET application_name = 'DBeaver ... - Main';

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT current_schema(), session_user;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SHOW search_path;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname = 'dev' ORDER BY db.datname;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C');

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c');

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.oid=$1 ORDER BY a.attnum;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, null as consrc_copy FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass WHERE c.conrelid=$1 ORDER BY c.oid;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE i.indrelid=$1 ORDER BY tabrelname, c.relname;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT * FROM pg_catalog.pg_settings;  SELECT a.oid,a.* FROM pg_catalog.pg_roles a ORDER BY a.rolname;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT e.oid, cfg.tbls, n.nspname as schema_name, e.* FROM pg_catalog.pg_extension e left join pg_namespace n on n.oid=e.extnamespace left join (select extname, array_agg(cfg_oid) tbls from (select extname, unnest(extconfig) cfg_oid from pg_extension) x group by extname) cfg on cfg.extname=e.extname ORDER BY e.oid;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT pg_catalog.pg_get_viewdef($1, true);  SELECT t.oid,t.* FROM pg_catalog.pg_tablespace t;  SELECT am.oid,am.* FROM pg_catalog.pg_am am;  SELECT l.oid,l.* FROM pg_catalog.pg_language l;

--@ simple | DBeaver (PgJDBC based; extended protocol, explicit casts everywhere)
SELECT pg_catalog.pg_total_relation_size(c.oid), pg_catalog.pg_relation_size(c.oid) FROM pg_catalog.pg_class c WHERE c.oid = $1;

--@ simple | Grafana PostgreSQL data source (Go pgx / lib/pq; simple protocol or cached prepared statements; version probe first)
SELECT current_setting('server_version_num')::int/100;   SELECT 1;

--@ simple | Grafana PostgreSQL data source (Go pgx / lib/pq; simple protocol or cached prepared statements; version probe first)
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';

--@ simple | Grafana PostgreSQL data source (Go pgx / lib/pq; simple protocol or cached prepared statements; version probe first)
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) as i, string_to_array(current_setting('search_path'),',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema','pg_catalog','_timescaledb_cache','_timescaledb_catalog','_timescaledb_internal','_timescaledb_config','timescaledb_information','timescaledb_experimental') ORDER BY "table";

--@ simple | Grafana PostgreSQL data source (Go pgx / lib/pq; simple protocol or cached prepared statements; version probe first)
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('public.kv'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.kv'))[1] AND quote_ident(table_name) = (parse_ident('public.kv'))[2] ELSE quote_ident(table_name) = 'kv' END;

--@ simple | Metabase (PgJDBC; metadata sync)
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;  SET SESSION TIMEZONE TO 'UTC';  SHOW TIMEZONE;

--@ simple | Metabase (PgJDBC; metadata sync)
select n.nspname from pg_namespace n where has_schema_privilege(n.nspname, 'USAGE');

--@ simple | Metabase (PgJDBC; metadata sync)
with table_privileges as (select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname,'"','""') || '"."' || replace(t.objectname,'"','""') || '"', 'update') as update, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname,'"','""') || '"."' || replace(t.objectname,'"','""') || '"', 'select') as select from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_catalog.pg_views union select schemaname, matviewname as objectname from pg_catalog.pg_matviews) t where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema') select t.* from table_privileges t;

--@ simple | Metabase (PgJDBC; metadata sync)
SELECT nspname, relname, typname FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid;

--@ simple | Metabase (PgJDBC; metadata sync)
SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public','pg_catalog') THEN FORMAT('%s', c.udt_name) ELSE FORMAT('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type", c.ordinal_position - 1 AS "database-position", c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?", COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS "field-comment" FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name;

--@ simple | Metabase (PgJDBC; metadata sync)
SELECT substring("t"."v", 1, 1234) FROM (SELECT * FROM "public"."kv" LIMIT 10000) t;

--@ simple | Metabase (PgJDBC; metadata sync)
SELECT count(distinct "public"."kv"."v") FROM "public"."kv";

--@ simple | Superset / any SQLAlchemy tool: see the SQLAlchemy sections, plus
SELECT version();  EXPLAIN SELECT 1;  SELECT * FROM (SELECT 1) AS virtual_table LIMIT 1001;

--@ simple | pgAdmin 4 (psycopg3, async connection, client_encoding/DateStyle/bytea settings on connect)
SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output'; SET client_encoding='UTF-8';

--@ simple | pgAdmin 4 (psycopg3, async connection, client_encoding/DateStyle/bytea settings on connect)
SELECT roles.oid as id, roles.rolname as name, roles.rolsuper as is_superuser, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END as can_create_role, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END as can_create_db, CASE WHEN 'pg_signal_backend'=ANY(ARRAY(WITH RECURSIVE cte AS (SELECT pg_roles.oid,pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = roles.oid UNION ALL SELECT m.roleid,pgr.rolname FROM cte cte_1 JOIN pg_auth_members m ON m.member = cte_1.oid JOIN pg_roles pgr ON pgr.oid = m.roleid) SELECT rolname FROM cte)) THEN True ELSE False END as can_signal_backend FROM pg_catalog.pg_roles as roles WHERE rolname = current_user;

--@ simple | pgAdmin 4 (psycopg3, async connection, client_encoding/DateStyle/bytea settings on connect)
SELECT db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding, has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate FROM pg_catalog.pg_database db WHERE db.datname = current_database();

--@ simple | pgAdmin 4 (psycopg3, async connection, client_encoding/DateStyle/bytea settings on connect)
SELECT CASE WHEN usesuper THEN pg_is_in_recovery() ELSE FALSE END as inrecovery, CASE WHEN usesuper AND pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END as isreplaypaused FROM pg_catalog.pg_user WHERE usename=current_user;
