-- psycopg3 3.3.9

--@ simple | non-autocommit execute+commit
BEGIN;

--@ simple | non-autocommit execute+commit
select 1;

--@ simple | non-autocommit execute+commit
COMMIT;

--@ extended ["a"] | params
select $1::text;

--@ extended ["5"] | prepare=True
select $1::int;

--@ simple | named (server-side) cursor
BEGIN;

--@ extended | named (server-side) cursor
DECLARE "cc" CURSOR FOR select * from kv;

--@ simple | named (server-side) cursor
FETCH FORWARD 2 FROM "cc";

--@ simple | named (server-side) cursor
CLOSE "cc";

--@ simple | named (server-side) cursor
COMMIT;

--@ simple | COPY out
COPY kv TO STDOUT;

--@ simple | COPY in
BEGIN;

--@ simple | COPY in
COPY kv(k,v) FROM STDIN;

--@ simple | COPY in
ROLLBACK;

--@ simple | TypeInfo.fetch
BEGIN;

--@ extended ["numeric"] | TypeInfo.fetch
SELECT
        typname AS name, oid, typarray AS array_oid,
        oid::regtype::text AS regtype, typdelim AS delimiter
    FROM pg_type t
    WHERE t.oid = to_regtype($1)
    ORDER BY t.oid;

--@ simple | TypeInfo.fetch
COMMIT;

--@ simple | EnumInfo.fetch
BEGIN;

--@ extended ["int4"] | EnumInfo.fetch
SELECT name, oid, array_oid, regtype, array_agg(label) AS labels
    FROM (
        SELECT
            t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
            t.oid::regtype::text AS regtype, e.enumlabel AS label
        FROM pg_type t
        LEFT JOIN  pg_enum e
        ON e.enumtypid = t.oid
        WHERE t.oid = to_regtype($1)
        ORDER BY e.enumsortorder
    ) x
    GROUP BY name, oid, array_oid, regtype;

--@ simple | EnumInfo.fetch
COMMIT;

--@ simple | CompositeInfo.fetch
BEGIN;

--@ extended ["kv"] | CompositeInfo.fetch
SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        t.oid::regtype::text AS regtype,
        coalesce(a.fnames, '{}') AS field_names,
        coalesce(a.ftypes, '{}') AS field_types
    FROM pg_type t
    LEFT JOIN (
        SELECT
            attrelid,
            array_agg(attname) AS fnames,
            array_agg(atttypid) AS ftypes
        FROM (
            SELECT a.attrelid, a.attname, a.atttypid
            FROM pg_attribute a
            JOIN pg_type t ON t.typrelid = a.attrelid
            WHERE t.oid = to_regtype($1)
            AND a.attnum > 0
            AND NOT a.attisdropped
            ORDER BY a.attnum
        ) x
        GROUP BY attrelid
    ) a ON a.attrelid = t.typrelid
    WHERE t.oid = to_regtype($1);

--@ simple | CompositeInfo.fetch
COMMIT;

--@ simple | RangeInfo.fetch
BEGIN;

--@ extended ["int4range"] | RangeInfo.fetch
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        t.oid::regtype::text AS regtype,
        r.rngsubtype AS subtype_oid
    FROM pg_type t
    JOIN pg_range r ON t.oid = r.rngtypid
    WHERE t.oid = to_regtype($1);

--@ simple | RangeInfo.fetch
COMMIT;

--@ simple | isolation/readonly txn
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;

--@ simple | isolation/readonly txn
select 1;

--@ simple | isolation/readonly txn
COMMIT;

--@ simple | nested transaction()
BEGIN;

--@ simple | nested transaction()
SAVEPOINT "_pg3_2";

--@ simple | nested transaction()
select 1;

--@ simple | nested transaction()
RELEASE "_pg3_2";

--@ simple | nested transaction()
COMMIT;
