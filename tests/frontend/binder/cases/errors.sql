select nope from t
select t.nope from t
select x.a from t
select aa from t
select nam from u
select t.a from t as x
select a from t, u
select * from nope
select * from nope.t
select * from t, t
select 1 + 'a'
select d + 1 from t
select 'a'::text + 1
select a || b from t
select -d from t
select f + 1 from t
select not a from t
select a and f from t
select * from t where a
select * from t where 'x'
select lower(a) from t
select lower()
select nofunc(1, 'a', d) from t
select substring(1, 2)
select 'abc'::int
select int 'abc'
select '1.5'::int
select 'x'::numeric
select 'nonsense'::timestamp
select 'x'::interval
select 'maybe'::boolean
select a::date from t
select at::int from u
select f::numeric from t
select true::bigint
select 1::nosuchtype
select 1::numeric(0)
select a, count(*) from t
select a from t group by b
select a + 1 from t group by a + 2
select * from t group by a
select count(count(*)) from t
select a from t where count(*) > 1
select a from t group by count(*)
select a from t group by 7
select a from t order by 7
select a, count(*) from t group by 2
select a from t having b > 1
select sum(d) from t
select avg(f) from t
select '2024-02-30'::date
select sum(*) from t
select count() from t
select max(f) from t
select distinct a from t order by b
select a from t union select d from t
select a from t union select a, b from t
select a from t union select b from t order by a + 1
select a as x, b as x from t order by x
select case when a then 1 end from t
select case when f then 1 else 'x' end from t
select case when f then 1 else d end from t
select case a when 'x' then 1 end from t
select coalesce(1, 'x')
select coalesce(a, d) from t
select greatest(a, f) from t
select nullif(a, d) from t
select a in (1, 'x') from t
select a in (1, d) from t
select a between 1 and 'x' from t
select a = 'x' from t
select a like 'x' from t
select a is true from t
select a limit 1 from t
select 1 limit a
select a from t limit a
select a from t limit 'x'
select a from t limit -1
select a from t offset true
select * from t join u on t.a
select * from t join u using (nope)
select * from t join u on count(*) > 1
select * from (values (1), (2, 3)) x
select * from (select 1 as a, 2 as a) x where a = 1
select x.a from (select 1 as a, 2 as a) x
select * from t as x(a, b, c, d, e, f, g)
with x as (select 1), x as (select 2) select 1
with x(a, b) as (select 1) select * from x
select extract(nope from at) from u
select extract(hour from date '2024-01-01')
select extract(year from a) from t
select extract(year from '2024-01-01')
select date_trunc('month', a) from t
select 9223372036854775808::bigint
select '99999999999'::int
select 1 = any
select * from
select a b c from t
select (1
select 'abc
select "abc
select * from t where a = = 1
select * from t group by
select a from t order by nope
select lower(distinct d) from t
select lower(d) filter (where f) from t
select count(*) filter (where a) from t
select *
select 1 where 1
select 'a' like 1
select a::text::date + f from t
select date '2024-01-01' + date '2024-01-01'
select interval '1 day' * interval '1 day'
select at at time zone 5 from u
values (1), (2, 3)
values (1), ('x')
select b = d from t
select round('x'::text)
select abs('x')
select sum(a) filter (where count(*) > 1) from t
select null + null
select 'a' + 'b'
select '1' + '2'
select 1 as a union all select null union all select 'x'
SELECT 'abc' NOT SIMILAR TO any (ARRAY['a%'])
SELECT 1 IS DISTINCT FROM all (ARRAY[1])
SELECT 1 BETWEEN any (ARRAY[1]) AND 2
SELECT any (ARRAY[1]) = 1
SELECT 'a' NOT LIKE ANY (1)
SELECT 'a' !~~ ALL (ARRAY[1])
SELECT 1 NOT LIKE 'a'
SELECT 'a' !~ true
SELECT some (ARRAY[1])
SELECT tumble(1)
with t(id, c) as (select 1, 2) select * from public.t, t
with t(id, c) as (select 1, 2) select * from t, public.t
select * from public.t, (select 1) as t
select * from (select 1) as t, t
select * from t as u, u
select * from t, generate_series(1, 2) as t
select * from t, lateral (select 1) as t
select "" from t
select 1 as ""
select * from t as ""
select * from ""
select 1 from "".t
select ""()
select a from t where "t"."" = 1
select + from "" where 1
with "" as (select 1) select 1
select * from t join u using (t.a)
select * from t join u using (a, u.a)
select * from t join u using ()
select * from t join u using (a + 1)
select * from t join u using (1)
select * from t join u using ('a')
select * from t join u using (a.*)
select * from t join u using (*)
select * from t join u using ((a))
select grouping(b) from t group by a
select a, (select grouping(t.b)) from t group by a
select a, (select grouping(t.a + 1)) from t group by a
select a from t where (select grouping(t.a)) = 0 group by a
select a, sum(grouping(a)) from t group by a
select a, (select max(grouping(t.a)) from u) from t group by a
select l.g from t, lateral (select grouping(t.a) as g) l
select a, rank(b) within group (order by b) from t group by rollup (a)
select a, percentile_cont(b) within group (order by b) from t group by a
select a, rank(count(*)) within group (order by b) from t group by a
select a, rank(sum(b) over ()) within group (order by b) from t group by a
