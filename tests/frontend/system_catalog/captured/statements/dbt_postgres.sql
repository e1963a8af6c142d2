-- dbt-postgres 1.9.1 (dbt-core 1.10.23)

--@ simple | dbt debug
BEGIN;

--@ simple | dbt debug
select 1 as id;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
select distinct nspname from pg_namespace;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
create schema if not exists "dbt_pg";

--@ simple | dbt seed
COMMIT;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
select
          'memory' as database,
          tablename as name,
          schemaname as schema,
          'table' as type
        from pg_tables
        where schemaname ilike 'dbt_pg'
        union all
        select
          'memory' as database,
          viewname as name,
          schemaname as schema,
          'view' as type
        from pg_views
        where schemaname ilike 'dbt_pg'
        union all
        select
          'memory' as database,
          matviewname as name,
          schemaname as schema,
          'materialized_view' as type
        from pg_matviews
        where schemaname ilike 'dbt_pg';

--@ simple | dbt seed
ROLLBACK;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
select distinct
            dependent_namespace.nspname as dependent_schema,
            dependent_class.relname as dependent_name,
            referenced_namespace.nspname as referenced_schema,
            referenced_class.relname as referenced_name

        -- Query for views: views are entries in pg_class with an entry in pg_rewrite, but we avoid
        -- a seq scan on pg_rewrite by leveraging the fact there is an "internal" row in pg_depend for
        -- the view...
        from pg_class as dependent_class
        join pg_namespace as dependent_namespace on dependent_namespace.oid = dependent_class.relnamespace
        join pg_depend as dependent_depend on dependent_depend.refobjid = dependent_class.oid
            and dependent_depend.classid = 'pg_rewrite'::regclass
            and dependent_depend.refclassid = 'pg_class'::regclass
            and dependent_depend.deptype = 'i'

        -- ... and via pg_depend (that has a row per column, hence the need for "distinct" above, and
        -- making sure to exclude the internal row to avoid a view appearing to depend on itself)...
        join pg_depend as joining_depend on joining_depend.objid = dependent_depend.objid
            and joining_depend.classid = 'pg_rewrite'::regclass
            and joining_depend.refclassid = 'pg_class'::regclass
            and joining_depend.refobjid != dependent_depend.refobjid

        -- ... we can find the tables they query from in pg_class, but excluding system tables. Note we
        -- don't need need to exclude _dependent_ system tables, because they only query from other
        -- system tables, and so are automatically excluded by excluding _referenced_ system tables
        join pg_class as referenced_class on referenced_class.oid = joining_depend.refobjid
        join pg_namespace as referenced_namespace on referenced_namespace.oid = referenced_class.relnamespace
            and referenced_namespace.nspname != 'information_schema'
            and referenced_namespace.nspname not like 'pg\_%'

        order by
            dependent_schema, dependent_name, referenced_schema, referenced_name;

--@ simple | dbt seed
ROLLBACK;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
COMMIT;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
create table "memory"."dbt_pg"."sd" ("a" integer,"b" text);

--@ simple | dbt seed
insert into "memory"."dbt_pg"."sd" ("a", "b") values (1,'x'),(2,'y');

--@ simple | dbt seed
COMMIT;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
BEGIN;

--@ simple | dbt seed
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
select distinct nspname from pg_namespace;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
ROLLBACK;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
ROLLBACK;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create table "memory"."dbt_pg"."inc1" as ( select k, v from public.kv where k<5 );

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create table "memory"."dbt_pg"."t1__dbt_tmp" as ( select k, v from public.kv where k<10 );

--@ simple | dbt run
alter table "memory"."dbt_pg"."t1__dbt_tmp" rename to "t1";

--@ simple | dbt run
comment on table "memory"."dbt_pg"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run
select
              column_name,
              data_type,
              character_maximum_length,
              numeric_precision,
              numeric_scale

          from "memory".INFORMATION_SCHEMA.columns
          where table_name = 't1'

            and table_schema = 'dbt_pg'

          order by ordinal_position;

--@ simple | dbt run
comment on column "memory"."dbt_pg"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop table if exists "memory"."dbt_pg"."t1__dbt_backup" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create materialized view if not exists "memory"."dbt_pg"."mv1" as  select v, count(*) as n from "memory"."dbt_pg"."t1" group by v;

        create  index if not exists
      "f5df03b0c28ed7a0a858c522256ed405"
      on "memory"."dbt_pg"."mv1"
      (v);

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_backup" cascade;

--@ simple | dbt run
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_tmp" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create view "memory"."dbt_pg"."v1__dbt_tmp" as ( select k from "memory"."dbt_pg"."t1" );

--@ simple | dbt run
alter table "memory"."dbt_pg"."v1__dbt_tmp" rename to "v1";

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop view if exists "memory"."dbt_pg"."v1__dbt_backup" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
select distinct nspname from pg_namespace;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
ROLLBACK;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
ROLLBACK;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create temporary table "inc1__dbt_tmp014552685533" as ( select k, v from public.kv where k<5 and k>2 );

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
select
              column_name,
              data_type,
              character_maximum_length,
              numeric_precision,
              numeric_scale

          from INFORMATION_SCHEMA.columns
          where table_name = 'inc1__dbt_tmp014552685533'

          order by ordinal_position;

--@ simple | dbt run
delete from "memory"."dbt_pg"."inc1" as DBT_INTERNAL_DEST
            where (k) in (
                select distinct k
                from "inc1__dbt_tmp014552685533" as DBT_INTERNAL_SOURCE
            );



        insert into "memory"."dbt_pg"."inc1" ("k", "v")
        (
            select "k", "v"
            from "inc1__dbt_tmp014552685533"
        );

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create table "memory"."dbt_pg"."t1__dbt_tmp" as ( select k, v from public.kv where k<10 );

--@ simple | dbt run
alter table "memory"."dbt_pg"."t1" rename to "t1__dbt_backup";

--@ simple | dbt run
alter table "memory"."dbt_pg"."t1__dbt_tmp" rename to "t1";

--@ simple | dbt run
comment on table "memory"."dbt_pg"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run
comment on column "memory"."dbt_pg"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop table if exists "memory"."dbt_pg"."t1__dbt_backup" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create materialized view if not exists "memory"."dbt_pg"."mv1" as  select v, count(*) as n from "memory"."dbt_pg"."t1" group by v;

        create  index if not exists
      "9b468628a764f3ef02b42f73f34b8500"
      on "memory"."dbt_pg"."mv1"
      (v);

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_backup" cascade;

--@ simple | dbt run
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_tmp" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
create view "memory"."dbt_pg"."v1__dbt_tmp" as ( select k from "memory"."dbt_pg"."t1" );

--@ simple | dbt run
alter table "memory"."dbt_pg"."v1__dbt_tmp" rename to "v1";

--@ simple | dbt run
COMMIT;

--@ simple | dbt run
drop view if exists "memory"."dbt_pg"."v1__dbt_backup" cascade;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
BEGIN;

--@ simple | dbt run
COMMIT;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
select distinct nspname from pg_namespace;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
ROLLBACK;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
ROLLBACK;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
create table "memory"."dbt_pg"."inc1__dbt_tmp" as ( select k, v from public.kv where k<5 );

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_pg"."inc1" rename to "inc1__dbt_backup";

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_pg"."inc1__dbt_tmp" rename to "inc1";

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt run --full-refresh
drop table if exists "memory"."dbt_pg"."inc1__dbt_backup" cascade;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
create table "memory"."dbt_pg"."t1__dbt_tmp" as ( select k, v from public.kv where k<10 );

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_pg"."t1" rename to "t1__dbt_backup";

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_pg"."t1__dbt_tmp" rename to "t1";

--@ simple | dbt run --full-refresh
comment on table "memory"."dbt_pg"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run --full-refresh
comment on column "memory"."dbt_pg"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt run --full-refresh
drop table if exists "memory"."dbt_pg"."t1__dbt_backup" cascade;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
create materialized view if not exists "memory"."dbt_pg"."mv1" as  select v, count(*) as n from "memory"."dbt_pg"."t1" group by v;

        create  index if not exists
      "9caf75ece9def1e8d0574766f508359d"
      on "memory"."dbt_pg"."mv1"
      (v);

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt run --full-refresh
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_backup" cascade;

--@ simple | dbt run --full-refresh
drop materialized view if exists "memory"."dbt_pg"."mv1__dbt_tmp" cascade;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
create view "memory"."dbt_pg"."v1__dbt_tmp" as ( select k from "memory"."dbt_pg"."t1" );

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_pg"."v1__dbt_tmp" rename to "v1";

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt run --full-refresh
drop view if exists "memory"."dbt_pg"."v1__dbt_backup" cascade;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
BEGIN;

--@ simple | dbt run --full-refresh
COMMIT;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
ROLLBACK;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
ROLLBACK;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
COMMIT;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
select
          count(*) as failures,
          count(*) != 0 as should_warn,
          count(*) != 0 as should_error
        from (








    select k
    from "memory"."dbt_pg"."t1"
    where k is null






        ) dbt_internal_test;

--@ simple | dbt test
ROLLBACK;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
select
          count(*) as failures,
          count(*) != 0 as should_warn,
          count(*) != 0 as should_error
        from (






    select
        k as unique_field,
        count(*) as n_records

    from "memory"."dbt_pg"."t1"
    where k is not null
    group by k
    having count(*) > 1






        ) dbt_internal_test;

--@ simple | dbt test
ROLLBACK;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
BEGIN;

--@ simple | dbt test
COMMIT;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
ROLLBACK;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
ROLLBACK;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
BEGIN;

--@ simple | dbt docs generate
select
            'memory' as table_database,
            sch.nspname as table_schema,
            tbl.relname as table_name,
            case tbl.relkind
                when 'v' then 'VIEW'
                when 'm' then 'MATERIALIZED VIEW'
                else 'BASE TABLE'
            end as table_type,
            tbl_desc.description as table_comment,
            col.attname as column_name,
            col.attnum as column_index,
            pg_catalog.format_type(col.atttypid, col.atttypmod) as column_type,
            col_desc.description as column_comment,
            pg_get_userbyid(tbl.relowner) as table_owner

        from pg_catalog.pg_namespace sch
        join pg_catalog.pg_class tbl on tbl.relnamespace = sch.oid
        join pg_catalog.pg_attribute col on col.attrelid = tbl.oid
        left outer join pg_catalog.pg_description tbl_desc on (tbl_desc.objoid = tbl.oid and tbl_desc.objsubid = 0)
        left outer join pg_catalog.pg_description col_desc on (col_desc.objoid = tbl.oid and col_desc.objsubid = col.attnum)
        where ((upper(sch.nspname) = upper('dbt_pg') and
               upper(tbl.relname) = upper('sd')) or (upper(sch.nspname) = upper('dbt_pg') and
               upper(tbl.relname) = upper('v1')) or (upper(sch.nspname) = upper('dbt_pg') and
               upper(tbl.relname) = upper('t1')) or (upper(sch.nspname) = upper('dbt_pg') and
               upper(tbl.relname) = upper('mv1')) or (upper(sch.nspname) = upper('dbt_pg') and
               upper(tbl.relname) = upper('inc1')))
          and not pg_is_other_temp_schema(sch.oid) -- not a temporary schema belonging to another session
          and tbl.relpersistence in ('p', 'u') -- [p]ermanent table or [u]nlogged table. Exclude [t]emporary tables
          and tbl.relkind in ('r', 'v', 'f', 'p', 'm') -- o[r]dinary table, [v]iew, [f]oreign table, [p]artitioned table, [m]aterialized view. Other values are [i]ndex, [S]equence, [c]omposite type, [t]OAST table
          and col.attnum > 0 -- negative numbers are used for system columns such as oid
          and not col.attisdropped -- column as not been dropped

        order by
            sch.nspname,
            tbl.relname,
            col.attnum;

--@ simple | dbt docs generate
ROLLBACK;
