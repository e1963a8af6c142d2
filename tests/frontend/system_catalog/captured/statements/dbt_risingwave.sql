-- dbt-risingwave 1.10.0 (dbt-core 1.10.23)

--@ simple | dbt debug
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt debug
select 1 as id;

--@ simple | dbt seed
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt seed
select distinct nspname from pg_namespace;

--@ simple | dbt seed
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt seed
create schema if not exists "dbt_rw";

--@ simple | dbt seed
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt seed
select
        'memory' as database,
        rw_relations.name as name,
        rw_schemas.name as schema,
        FIRST_VALUE(CASE WHEN relation_type = 'materialized view' THEN
          'materialized_view'
          else relation_type
        END order by relation_type desc) AS type
        from rw_relations join rw_schemas on schema_id=rw_schemas.id
        where rw_schemas.name not in ('rw_catalog', 'information_schema', 'pg_catalog')
        and relation_type in ('table', 'view', 'source', 'sink', 'materialized view', 'index')
        AND rw_schemas.name = 'dbt_rw'
        group by 1, 2, 3 /* orig: group by database, name, schema */;

--@ simple | dbt seed
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt seed
create table "memory"."dbt_rw"."sd" ("a" integer,"b" text);

--@ simple | dbt seed
insert into "memory"."dbt_rw"."sd" ("a", "b") values (1,'x'),(2,'y');

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
select distinct nspname from pg_namespace;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
create table if not exists "memory"."dbt_rw"."inc1" as select k, v from public.kv where k<5 ;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
create table if not exists "memory"."dbt_rw"."t1" as select k, v from public.kv where k<10 ;

--@ simple | dbt run
comment on table "memory"."dbt_rw"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run
select
              column_name,
              data_type,
              null as character_maximum_length,
              null as numeric_precision,
              null as numeric_scale

          from "memory".INFORMATION_SCHEMA.columns
          where table_name = 't1'

            and table_schema = 'dbt_rw'

          order by ordinal_position;

--@ simple | dbt run
comment on column "memory"."dbt_rw"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
create materialized view if not exists "memory"."dbt_rw"."mv1"


      as  select v, count(*) as n from "memory"."dbt_rw"."t1" group by v
      ;

--@ simple | dbt run
create index if not exists "__dbt_index_mv1_v" on "memory"."dbt_rw"."mv1" (v);

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
create or replace view /* orig: create view if not exists */ "memory"."dbt_rw"."v1"


      as  select k from "memory"."dbt_rw"."t1"
      ;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
select distinct nspname from pg_namespace;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
create table if not exists "inc1__dbt_tmp014512992559" as select k, v from public.kv where k<5 and k>2 ;

--@ simple | dbt run
select
              column_name,
              data_type,
              null as character_maximum_length,
              null as numeric_precision,
              null as numeric_scale

          from INFORMATION_SCHEMA.columns
          where table_name = 'inc1__dbt_tmp014512992559'

          order by ordinal_position;

--@ simple | dbt run
delete from "memory"."dbt_rw"."inc1" as DBT_INTERNAL_DEST
            where (k) in (
                select distinct k
                from "inc1__dbt_tmp014512992559" as DBT_INTERNAL_SOURCE
            );



        insert into "memory"."dbt_rw"."inc1" ("k", "v")
        (
            select "k", "v"
            from "inc1__dbt_tmp014512992559"
        );

--@ simple | dbt run
drop table if exists "inc1__dbt_tmp014512992559" cascade;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
comment on table "memory"."dbt_rw"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run
comment on column "memory"."dbt_rw"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run
with index_info as (
        select
            i.relname                                   as name,
            a.attname                                   as attname,
            array_position(ix.indkey, a.attnum)         as ord
        from pg_index ix
        join pg_class i
            on i.oid = ix.indexrelid
        join pg_class t
            on t.oid = ix.indrelid
        join pg_namespace n
            on n.oid = t.relnamespace
        join pg_attribute a
            on a.attrelid = t.oid
            and a.attnum = ANY(ix.indkey)
            -- Only include the first indnkeyatts columns (the actual index key columns)
            -- The rest are implicit INCLUDE columns in RisingWave
            and array_position(ix.indkey, a.attnum) <= ix.indnkeyatts
        where t.relname = 'mv1'
          and n.nspname = 'dbt_rw'
          and t.relkind in ('r', 'm')
          and ix.indisprimary = false
        )
        select name, array_to_string(array_agg(attname order by ord), ',') as column_names from index_info
        group by name
        order by name;

--@ simple | dbt run
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
select distinct nspname from pg_namespace;

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
create table if not exists "memory"."dbt_rw"."inc1__dbt_tmp" as select k, v from public.kv where k<5 ;

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_rw"."inc1" rename to "inc1__dbt_backup";

--@ simple | dbt run --full-refresh
alter table "memory"."dbt_rw"."inc1__dbt_tmp" rename to "inc1";

--@ simple | dbt run --full-refresh
drop table if exists "memory"."dbt_rw"."inc1__dbt_backup" cascade;

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
drop table if exists "memory"."dbt_rw"."t1" cascade;

--@ simple | dbt run --full-refresh
create table if not exists "memory"."dbt_rw"."t1" as select k, v from public.kv where k<10 ;

--@ simple | dbt run --full-refresh
comment on table "memory"."dbt_rw"."t1" is $dbt_comment_literal_block$desc$dbt_comment_literal_block$;

--@ simple | dbt run --full-refresh
comment on column "memory"."dbt_rw"."t1".k is $dbt_comment_literal_block$kdesc$dbt_comment_literal_block$;

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
drop materialized view if exists "memory"."dbt_rw"."mv1" cascade;

--@ simple | dbt run --full-refresh
create index if not exists "__dbt_index_mv1_v" on "memory"."dbt_rw"."mv1" (v);

--@ simple | dbt run --full-refresh
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt run --full-refresh
drop view if exists "memory"."dbt_rw"."v1" cascade;

--@ simple | dbt test
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt test
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt test
select
          count(*) as failures,
          count(*) != 0 as should_warn,
          count(*) != 0 as should_error
        from (








    select k
    from "memory"."dbt_rw"."t1"
    where k is null






        ) dbt_internal_test;

--@ simple | dbt test
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt test
select
          count(*) as failures,
          count(*) != 0 as should_warn,
          count(*) != 0 as should_error
        from (






    select
        k as unique_field,
        count(*) as n_records

    from "memory"."dbt_rw"."t1"
    where k is not null
    group by k
    having count(*) > 1






        ) dbt_internal_test;

--@ simple | dbt docs generate
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

--@ simple | dbt docs generate
select 1 /* SET RW_IMPLICIT_FLUSH TO true */;

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
        where ((upper(sch.nspname) = upper('dbt_rw') and
               upper(tbl.relname) = upper('sd')) or (upper(sch.nspname) = upper('dbt_rw') and
               upper(tbl.relname) = upper('t1')) or (upper(sch.nspname) = upper('dbt_rw') and
               upper(tbl.relname) = upper('v1')) or (upper(sch.nspname) = upper('dbt_rw') and
               upper(tbl.relname) = upper('mv1')) or (upper(sch.nspname) = upper('dbt_rw') and
               upper(tbl.relname) = upper('inc1')))
          and tbl.relpersistence in ('p', 'u') -- [p]ermanent table or [u]nlogged table. Exclude [t]emporary tables
          and tbl.relkind in ('r', 'v', 'f', 'p', 'm') -- o[r]dinary table, [v]iew, [f]oreign table, [p]artitioned table, [m]aterialized view. Other values are [i]ndex, [S]equence, [c]omposite type, [t]OAST table
          and col.attnum > 0 -- negative numbers are used for system columns such as oid
          and not col.attisdropped -- column as not been dropped

        order by
            sch.nspname,
            tbl.relname,
            col.attnum;
