a
kinds.a
public.kinds.a
(s).v1
((s).v1)
(s).v1::text
(s).v1 + 1
-(s).v1
arr[1]
(arr)[1]
arr[1:2]
(arr || 1)[1]
(array[1,2])[1]
arr[1]::text
a::bigint
a::int8
cast(a as text)
1::bigint
'1'::int
'x'::text
'x'::varchar(3)
1::numeric(5,2)
1::double precision
1::float4
'2020-01-01'::timestamptz
'2020-01-01'::timestamp with time zone
now()::date
(1+1)::int
'{1}'::int[]
array[1]::bigint[]
'1 day'::interval
date '2020-01-01'
timestamp '2020-01-01'
timestamptz '2020-01-01'
interval '1 day'
interval '1' day
time '10:00'
int '1'
float8 '1'
bool 't'
text 'x'
numeric '1'
case when a = 1 then a end
case when a = 1 then 2 else a end
case a when 1 then 2 else kinds.a end
case when a=1 then 2 else 3 end
case when a=1 then 2 else '3'::int end
coalesce(a, 1)
greatest(a, 1)
least(a, 1)
nullif(a, 1)
array[1,2]
array[a]
array(select a from kinds)
(select a from kinds limit 1)
(select 1)
(select count(*) from kinds)
(select a as q from kinds limit 1)
(select (select x from kinds limit 1))
(values (1))
(select max(a)::text from kinds)
exists(select 1)
not exists(select 1)
a in (select 1)
a = any(select 1)
a in (1,2)
a between 1 and 2
extract(year from d)
extract(epoch from ts)
date_part('year', d)
substring(x from 1 for 2)
substring(x, 1, 2)
substr(x, 1)
substring(x from 'a')
substring(x similar 'a' escape '#')
overlay(x placing 'b' from 1)
overlay(x, 'b', 1)
position('a' in x)
strpos(x, 'a')
trim(x)
trim(both 'a' from x)
trim(leading 'a' from x)
trim(trailing 'a' from x)
trim(trailing from x)
btrim(x)
ltrim(x)
normalize(x)
normalize(x, NFD)
x is normalized
x is NFC normalized
x is not normalized
ts at time zone 'UTC'
(ts at time zone 'UTC')::date
timezone('UTC', ts)
x like 'a'
x not like 'a'
x ilike 'a'
x similar to 'a'
x like 'a' escape 'b'
x ~ 'a'
a is null
a is not null
a isnull
b is true
b is not false
b is unknown
a is distinct from 1
not b
b and b
b or b
current_date
current_timestamp
localtime
localtimestamp
current_user
session_user
user
current_role
current_catalog
current_schema
current_schema()
lower(x)
"lower"(x)
LOWER(x)
row(1,2)
(1,2)
row(a, x)
row(1,2) = row(1,2)
1
'x'
null
true
false
-1
- a
+ a
a + 1
a || x
@ a
|/ a
$$x$$
count(*)
count(a)
count(distinct a)
sum(a) filter (where a > 1)
sum(a) over ()
row_number() over ()
rank() over (order by a)
lag(a) over (order by a)
sum(a)::text
max(a) + 1
string_agg(x, ',' order by x)
array_agg(a)
percentile_disc(0.5) within group (order by a)
percentile_cont(0.5) within group (order by a)
mode() within group (order by a)
rank(1) within group (order by a)
dense_rank(1) within group (order by a)
percent_rank(1) within group (order by a)
cume_dist(1) within group (order by a)
percentile_disc(0.5) within group (order by a) filter (where a > 0)
percentile_disc(0.5) within group (order by a)::text
bool_and(b)
every(b)
select grouping(a) from kinds group by a
jsonb_build_object('a', 1)
j->'a'
j->>'a'
j['a']
(j->'a')::text
j @> '{}'
to_char(ts, 'YYYY')
unnest(arr)
generate_series(1,2)
jsonb_object_keys('{}')
(a)
((a))
(a)::text
(a + 1)
(lower(x))
(s).*
regexp_match(x, 'a')
(regexp_match(x, 'a'))[1]
make_date(2020,1,1)
pg_typeof(a)
int4(2.5)
date(ts)
float8(a)
text(a)
(ts, ts) overlaps (ts, ts)
d - d
now()
now() - interval '1 day'
(row(1,2)).f1
(select (s).v1 from kinds limit 1)
(kinds.s).v1
arr[(s).v1]
(array[row(1,2)])[1]
case when b then (s).v1 else (s).v2::int end
((s).v2)::varchar
cast((s).v1 as int) + 0
array[1,2] || 3
a = all(arr)
row(1,'a') is null
concat(x, 'a')
"a"
select "A B" from (select 1 as "A B") q
(select * from (values (1)) v(zz))
(select * from (select 1 as q) z)::text
(with w as (select 1 as u) select * from w)
(select z.* from (select 1 as q) z)
(values (1) order by 1)
(select 1 as one union select 2 as two)
((select a as k from kinds limit 1))
case when b then 1 else (select * from (select 1 as q) z) end
array(select * from (select 1 as q) z)
first_value(a) over (order by a)
a::"char"
(arr[1:2])[1]
(select arr from kinds limit 1)[1]
((select arr from kinds limit 1))[1]
(case when b then arr end)[1]
(coalesce(arr, arr))[1]
(s).v2 || 'a'
interval '1' year
cast(null as interval year)
1::bool
1::decimal
'a'::char
'a'::char(3)
'a'::bpchar
'a'::character varying
'1'::real
'10:00'::time
'2020-01-01'::timestamp
'\x'::bytea
'{}'::jsonb
1::smallint
a::text::int
(a + 1)::text::int
'1'::int::text
null::int
(null)::int
- '1'::int
(-1)::int
row(1,2)::text
array[1]::text
exists(select 1)::int
case when b then 1 end::text
(case when b then 1 end)::text
nullif(a,1)::text
(select 1)::text
count(*)::int
(a is null)::int
