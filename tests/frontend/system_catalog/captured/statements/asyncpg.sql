-- asyncpg 0.32.0

--@ extended | connect+fetch builtin types
select 1::int a,'x'::text b;

--@ extended | fetch array/jsonb/timestamptz (intro?)
SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new;

--@ extended ["{1007}"] | fetch array/jsonb/timestamptz (intro?)
WITH RECURSIVE typeinfo_tree(
        oid, ns, name, kind, basetype, elemtype, elemdelim,
        range_subtype, attrtypoids, attrnames, depth)
    AS (
        SELECT
            ti.oid, ti.ns, ti.name, ti.kind, ti.basetype,
            ti.elemtype, ti.elemdelim, ti.range_subtype,
            ti.attrtypoids, ti.attrnames, 0
        FROM
                (
            SELECT
                t.oid                           AS oid,
                ns.nspname                      AS ns,
                t.typname                       AS name,
                t.typtype                       AS kind,
                (CASE WHEN t.typtype = 'd' THEN
                    (WITH RECURSIVE typebases(oid, depth) AS (
                        SELECT
                            t2.typbasetype      AS oid,
                            0                   AS depth
                        FROM
                            pg_type t2
                        WHERE
                            t2.oid = t.oid

                        UNION ALL

                        SELECT
                            t2.typbasetype      AS oid,
                            tb.depth + 1        AS depth
                        FROM
                            pg_type t2,
                            typebases tb
                        WHERE
                           tb.oid = t2.oid
                           AND t2.typbasetype != 0
                   ) SELECT oid FROM typebases ORDER BY depth DESC LIMIT 1)

                   ELSE NULL
                END)                            AS basetype,
                t.typelem                       AS elemtype,
                elem_t.typdelim                 AS elemdelim,
                COALESCE(
                    range_t.rngsubtype,
                    multirange_t.rngsubtype)    AS range_subtype,
                (CASE WHEN t.typtype = 'c' THEN
                    (SELECT
                        array_agg(ia.atttypid ORDER BY ia.attnum)
                    FROM
                        pg_attribute ia
                        INNER JOIN pg_class c
                            ON (ia.attrelid = c.oid)
                    WHERE
                        ia.attnum > 0 AND NOT ia.attisdropped
                        AND c.reltype = t.oid)

                    ELSE NULL
                END)                            AS attrtypoids,
                (CASE WHEN t.typtype = 'c' THEN
                    (SELECT
                        array_agg(ia.attname::text ORDER BY ia.attnum)
                    FROM
                        pg_attribute ia
                        INNER JOIN pg_class c
                            ON (ia.attrelid = c.oid)
                    WHERE
                        ia.attnum > 0 AND NOT ia.attisdropped
                        AND c.reltype = t.oid)

                    ELSE NULL
                END)                            AS attrnames
            FROM
                pg_catalog.pg_type AS t
                INNER JOIN pg_catalog.pg_namespace ns ON (
                    ns.oid = t.typnamespace)
                LEFT JOIN pg_type elem_t ON (
                    t.typlen = -1 AND
                    t.typelem != 0 AND
                    t.typelem = elem_t.oid
                )
                LEFT JOIN pg_range range_t ON (
                    t.oid = range_t.rngtypid
                )
                LEFT JOIN pg_range multirange_t ON (
                    t.oid = multirange_t.rngmultitypid
                )
        )
     AS ti
        WHERE
            ti.oid = any($1::oid[])

        UNION ALL

        SELECT
            ti.oid, ti.ns, ti.name, ti.kind, ti.basetype,
            ti.elemtype, ti.elemdelim, ti.range_subtype,
            ti.attrtypoids, ti.attrnames, tt.depth + 1
        FROM
                (
            SELECT
                t.oid                           AS oid,
                ns.nspname                      AS ns,
                t.typname                       AS name,
                t.typtype                       AS kind,
                (CASE WHEN t.typtype = 'd' THEN
                    (WITH RECURSIVE typebases(oid, depth) AS (
                        SELECT
                            t2.typbasetype      AS oid,
                            0                   AS depth
                        FROM
                            pg_type t2
                        WHERE
                            t2.oid = t.oid

                        UNION ALL

                        SELECT
                            t2.typbasetype      AS oid,
                            tb.depth + 1        AS depth
                        FROM
                            pg_type t2,
                            typebases tb
                        WHERE
                           tb.oid = t2.oid
                           AND t2.typbasetype != 0
                   ) SELECT oid FROM typebases ORDER BY depth DESC LIMIT 1)

                   ELSE NULL
                END)                            AS basetype,
                t.typelem                       AS elemtype,
                elem_t.typdelim                 AS elemdelim,
                COALESCE(
                    range_t.rngsubtype,
                    multirange_t.rngsubtype)    AS range_subtype,
                (CASE WHEN t.typtype = 'c' THEN
                    (SELECT
                        array_agg(ia.atttypid ORDER BY ia.attnum)
                    FROM
                        pg_attribute ia
                        INNER JOIN pg_class c
                            ON (ia.attrelid = c.oid)
                    WHERE
                        ia.attnum > 0 AND NOT ia.attisdropped
                        AND c.reltype = t.oid)

                    ELSE NULL
                END)                            AS attrtypoids,
                (CASE WHEN t.typtype = 'c' THEN
                    (SELECT
                        array_agg(ia.attname::text ORDER BY ia.attnum)
                    FROM
                        pg_attribute ia
                        INNER JOIN pg_class c
                            ON (ia.attrelid = c.oid)
                    WHERE
                        ia.attnum > 0 AND NOT ia.attisdropped
                        AND c.reltype = t.oid)

                    ELSE NULL
                END)                            AS attrnames
            FROM
                pg_catalog.pg_type AS t
                INNER JOIN pg_catalog.pg_namespace ns ON (
                    ns.oid = t.typnamespace)
                LEFT JOIN pg_type elem_t ON (
                    t.typlen = -1 AND
                    t.typelem != 0 AND
                    t.typelem = elem_t.oid
                )
                LEFT JOIN pg_range range_t ON (
                    t.oid = range_t.rngtypid
                )
                LEFT JOIN pg_range multirange_t ON (
                    t.oid = multirange_t.rngmultitypid
                )
        )
     ti,
            typeinfo_tree tt
        WHERE
            (tt.elemtype IS NOT NULL AND ti.oid = tt.elemtype)
            OR (tt.attrtypoids IS NOT NULL AND ti.oid = any(tt.attrtypoids))
            OR (tt.range_subtype IS NOT NULL AND ti.oid = tt.range_subtype)
            OR (tt.basetype IS NOT NULL AND ti.oid = tt.basetype)
    )

    SELECT DISTINCT
        *,
        basetype::regtype::text AS basetype_name,
        elemtype::regtype::text AS elemtype_name,
        range_subtype::regtype::text AS range_subtype_name
    FROM
        typeinfo_tree
    ORDER BY
        depth DESC;

--@ extended ["on"] | fetch array/jsonb/timestamptz (intro?)
SELECT set_config('jit', $1, false);

--@ extended | fetch array/jsonb/timestamptz (intro?)
select '{1}'::int[] a,'{}'::jsonb b, now() c, 1.5::numeric d, '1 day'::interval e;

--@ extended | fetch composite (introspection query)
SELECT current_setting('jit') AS cur, set_config('jit', 'off', false) AS new;

--@ extended ["on"] | fetch composite (introspection query)
SELECT set_config('jit', $1, false);

--@ extended | fetch composite (introspection query)
select kv from kv limit 1;

--@ extended | fetch enum/domain (introspection)
select 'x'::information_schema.sql_identifier;

--@ simple | transaction + cursor(prefetch)
BEGIN;

--@ extended | transaction + cursor(prefetch)
select k from kv limit 5;

--@ extended | transaction + cursor(prefetch)
select k from kv limit 5;

--@ extended | transaction + cursor(prefetch)
select k from kv limit 5;

--@ simple | transaction + cursor(prefetch)
COMMIT;

--@ simple | copy_records_to_table
COPY "kv"("k", "v", "n") FROM STDIN (FORMAT binary);

--@ simple | copy_from_query
COPY (select * from kv limit 2) TO STDOUT;

--@ extended | pool release -> reset()
select 1;

--@ simple | pool release -> reset()
SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;

--@ extended | set_type_codec
select '{}'::jsonb;

--@ extended | add_listener
LISTEN "ch";
