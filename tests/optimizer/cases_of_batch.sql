select * from t
select t.*, u.name from t, u where t.a = u.a
select 1 + 1, 'a', null, 1.5, true, -3, 2147483648, 1e3
select i2 + i4, i4 + i8, i2 + r, r + dp, i8 + n, n * p, i4 / i2, i8 % 7, n - i2, r * 2, dp / 2 from types
select i2 + 1, i2 / 2::smallint, -i2, +i4, - n from types
select -7 / 2, 7 % -3, -7 % 3, 5.0 / 3, 1 / 3.0, 2 ^ 3, 10 & 6, 10 | 6, 10 # 6, ~5, 1 << 4, -16 >> 2
select 1::smallint + 1::smallint, 1::real + 1::real, 1::numeric / 3::numeric, 1::int + 1::real, 1.5::real::double precision
select 7.5::int, -7.5::int, 8.5::int, 7.5::double precision::int, 8.5::double precision::int, 2.345::numeric(3,2), 1e2::int
select '12'::int + 1, '1.5'::numeric * 2, 'true'::boolean, 't' = true, '2024-01-01'::date - '2023-12-31', 1 = '1'
select 'a' || 1, 1 || 'a', 'a' || true, 'a' || null, 'a' || 1.50, 'x' || date '2024-01-01'
select a = 1, a <> 1, a < 2, a <= 2, a > 2, a >= 2, a is null, a is not null, a is distinct from 1, a is not distinct from null from t
select f is true, f is not true, f is false, f is not false, f is unknown, f is not unknown, not f from t
select f and null, f or null, f and true, f or false, null and null from t
select a in (1, 2), a in (1, null), a not in (1, 2), a not in (1, null), d in ('one', 'x'), c in (1.5, 0) from t
select b between 10 and 20, b not between 10 and 20, b between symmetric 20 and 10, c between 0 and 2 from t
select d like 't%', d ilike 'T%', d not like '%o', d like '_wo', d like 'a!%' escape '!', '%' like '!%' escape '!', 'a\' like 'a\\' from t
select d ~ '^t', d ~* '^t', d !~ '^t', d !~* '^t' from t
select case when a = 1 then 'one' when a = 2 then 'two' end, case a when 1 then 1.5 else b end, case when f then 1 else null end from t
select coalesce(a, b), coalesce(a, 1.5), coalesce(null, null, 'x'), nullif(a, 1), nullif(d, ''), greatest(a, b), least(a, 1.5, null) from t
select (a, b) = (1, 10), (a, b) <> (2, 20), (a, b) in ((1, 10), (2, 30)) from t
select lower(d), upper(d), length(d), char_length(d), octet_length('é'), substring(d, 2), substring(d from 1 for 2), substr(d, 2, 1) from t
select trim(both 'x' from 'xxaxx'), trim('  a '), ltrim('xxa', 'x'), rtrim('axx', 'x'), btrim('xax', 'x'), trim(leading from ' a '), trim(trailing 'b' from 'abb')
select replace('abcabc', 'b', 'xx'), position('b' in 'abc'), strpos('abc', 'c'), left('abc', 2), right('abc', 2), left('abc', -1), right('abc', -1)
select lpad('7', 3, '0'), rpad('7', 3), lpad('abcdef', 3), repeat('ab', 3), reverse('abc'), split_part('a,b,c', ',', 2), starts_with('abc', 'ab'), initcap('hello wORLD')
select ascii('a'), chr(97), md5('a'), to_hex(255), translate('12345', '143', 'ax'), concat('a', 1, null, true), concat_ws(',', 'a', null, 2, false)
select regexp_replace('abcabc', 'b', 'x'), regexp_replace('abcabc', 'b', 'x', 'g'), length('\x00ff'::bytea), '\x01'::bytea || '\x02'::bytea
select abs(-5), abs(-1.5), ceil(1.2), floor(-1.2), ceiling(1.2::double precision), round(1.5), round(-2.5), round(2.5::double precision), round(1.255, 2), trunc(1.9), trunc(-1.99, 1), sign(-3)
select sqrt(16), power(2, 3), exp(0), ln(1), log(100), mod(7, 3), mod(-7, 3), gcd(12, 18), lcm(4, 6), cbrt(27), degrees(pi()), sin(0), atan2(0, 1)
select date '2024-01-31' + 1, date '2024-01-31' - 31, date '2024-03-01' - date '2024-02-01', date '2024-01-31' + interval '1 month', 1 + date '2024-01-01'
select timestamp '2024-01-31 10:00' + interval '1 month 2 days', timestamp '2024-03-01' - timestamp '2024-02-01 12:00', timestamp '2024-01-01' < date '2024-01-02'
select time '10:00' + interval '15 hours', time '10:00' - time '12:30', date '2024-01-01' + time '10:00', interval '1 day' * 2.5, interval '1 day' / 2, - interval '1 month', interval '1 day' + interval '1 hour'
select timestamp with time zone '2024-01-01 10:00+02', timestamptz '2024-01-01 10:00+02' at time zone 'Europe/Berlin', timestamp '2024-07-01 10:00' at time zone 'Europe/Berlin', timestamptz '2024-01-01' + interval '1 day'
select extract(year from at), extract(month from at), extract(day from at), extract(hour from at), extract(minute from at), extract(second from at), extract(epoch from at), extract(dow from at), extract(doy from at), extract(quarter from at), extract(week from at), extract(isodow from at) from u
select extract(epoch from interval '1 day 2 hours'), extract(day from interval '40 days'), extract(hour from time '10:20:30'), extract(year from date '2024-02-03'), extract(century from date '2001-01-01'), extract(milliseconds from time '00:00:01.5'), date_part('year', at) from u
select date_trunc('month', at), date_trunc('hour', at), date_trunc('year', at), date_trunc('week', at), date_trunc('day', interval '1 day 5 hours'), at::date, at::time from u
select make_date(2024, 2, 29), make_time(1, 2, 3.5), make_timestamp(2024, 1, 2, 3, 4, 5.5), to_timestamp(0)
select da::timestamp, da::timestamp with time zone, ts::date, ts::time, tz::timestamp, tz::date, ti::interval, iv::time, bo::int, i4::boolean, i4::text, r::text, dp::text, n::text, by::text, bo::text, iv::text, tz::text, da::text from types
select s::varchar(2), 'abcdef'::char(3), 12345::varchar(3), i8::real, i8::double precision, n::double precision, dp::numeric(10,1), r::int from types
select count(*), count(a), sum(a), sum(b), sum(c), sum(e), avg(a), avg(b), avg(c), avg(e), min(a), max(d), min(c), bool_and(f), bool_or(f), every(f) from t
select count(*), sum(a), avg(a), min(a), bool_and(f) from t where false
select count(distinct a), sum(distinct a), count(distinct d) filter (where a > 1), sum(b) filter (where f), count(*) filter (where f is null) from t
select sum(i2), sum(i4), sum(i8), sum(r), sum(dp), sum(n), sum(p), sum(iv), avg(i2), avg(r), avg(n), avg(iv), min(ts), max(tz), min(iv), max(ti), min(da) from types
select a, count(*) from t group by a
select a as x, sum(b) from t group by x order by x nulls first
select a % 2, sum(b) as s from t group by 1 having count(*) > 1 order by s
select a, d, count(*) from t group by (a, d) order by a, d desc
select a + 1, a + 1 + count(*) from t group by a + 1 order by 1
select max(a) - min(a), 'x', count(*) * 2 from t having sum(b) > 0
select 1 from t having count(*) > 100
select a, sum(b) + a from t where d is not null group by a order by sum(c) desc nulls last, a
select upper(d), count(*) from t group by upper(d) order by 2 desc, 1
select distinct a, f from t
select distinct a + 1 as x from t order by x desc
select a from t order by a nulls first, b
select a, b from t order by c desc, d
select a from t order by b desc nulls last limit 2 offset 1
select d, e from t order by e * -1, lower(d) limit 3
select a as b, b as a from t order by a
select * from t order by 2 desc limit 2
select * from t order by a, b fetch first 2 rows only
select a from t limit 0
select count(*) from (select a from t limit 2) x
select t.a, u.id from t join u on t.a = u.a order by 1, 2
select t.a, u.id from t left join u on t.a = u.a and u.id > 1 order by 1, 2
select t.a, u.id from t right join u on t.a = u.a order by 1, 2
select t.a, u.id from t full join u on t.a = u.a order by 1, 2
select a, id, name from t join u using (a) order by 1, 2
select a, t.a, u.a, id from t left join u using (a) order by 1, 2, 3, 4
select a, t.a, u.a, id from t right join u using (a) order by 1, 2, 3, 4
select a, t.a, u.a, id from t full join u using (a) order by 1, 2, 3, 4
select * from t natural join u order by b, id
select * from t natural left join u order by b, id
select count(*) from t cross join u
select count(*) from t, u, v
select x.a, y.a from t x join t y on x.a = y.a + 1 order by 1, 2
select x.a, y.id, z.n from t x left join (u y join v z on y.a = z.a) on x.a = z.a order by 1, 2, 3
select * from (t join u on t.a = u.a) as j(p, q) order by 1, 2, 7
select count(*) from t, u right join v on u.a = v.a where t.a = 1
select * from v order by a
select v.n, u.name from v join u on u.a = v.a order by u.id
select x.y from (select a as y, b from t where a > 1) x where x.b > 20
select s.total from (select a, sum(b) as total from t group by a) s where s.total is not null order by 1
select * from (values (1, 'a'), (2, null)) as x(n, s) where n > 1
select * from (select 1 as a union all select 2) x order by a desc
values (1, 'a'), (2.5, null), (null, 'c')
values (2), (1) order by 1
select a from t union select a from u
select a from t union all select id from u order by 1 nulls last
select a, 'x' from t union all select null, name from u
select 1 union select 1.5 union all select 1
select null union all select 1
select a from t where a = 1 union (select id from u order by id desc limit 1)
(select a from t order by a limit 1) union all (select 9) order by a desc
with x as (select a, count(*) as n from t group by a) select * from x where n > 1
with x(p, q) as (select a, b from t), y as (select p + 1 as r from x) select x.q, y.r from x join y on x.p = y.r order by 1, 2
with x as (select 1 as a) select * from x union all (with y as (select 2 as a) select * from y union all select * from x)
with t as (select 5 as a) select a from t
select "t"."a" as "Weird Name", a AS "A" from t
select T.A, D from T where B = 10
select 'it''s', E'a\tb', $$dollar $ quoted$$, $x$a$$b$x$, U&'d\0061t'
select current_date = now()::date, current_timestamp = now(), localtimestamp = now()::timestamp
select interval '1' day, interval '2' hour, interval '1 year 2 months', interval 'P1DT2H', interval '1-2'
select 1 from (select true as yes) x where yes
select not (a = 1 or b = 30), not a = 1 from t
select (a = 1) = f from (select 1 as a, true as f) x
select -2 ^ 2, 2 + 3 * 4, (2 + 3) * 4, 2 - 3 - 4, 2 ^ 3 ^ 2, 10 / 2 * 5, not true and false, 1 < 2 and 2 < 3
select 1 + 2 || 'x', 'a' || 'b' = 'ab', 1 = 2 is false, 1 + 1 between 1 and 3, 'ab' like 'a' || '%'
select count(*), (count(*)) from t group by ()
select a, b, c from t where a is not null and (b > 10 or c < 0) and not d = 'x' and a in (1, 2, 3)
select sum(x.n) from (select a, count(*) n from t group by a) x group by x.n having sum(x.n) > 1
select lower(upper(d)) || '-' || coalesce(a::text, 'none') from t order by 1
select name, length(name), name || '!' from u order by id
select bool_or(a = 1), min(case when f then b end), sum(case when a > 1 then 1 else 0 end) from t
select 0.1 + 0.2, 0.1::double precision + 0.2, 1.10, 100::numeric(5,2), 1e-3, .5
select t.b, u.name, v.n from t, v, u where t.a = u.a and v.a = u.a and t.b > 1
select t.b, u.name, v.n from v, t, u where t.a = u.a and v.a = u.a and v.a = t.a and t.a = 1
select t.b, u.name from t, u where (t.a = u.a and t.b > 10) or (t.a = u.a and u.name = 'x')
select t.b, u.name from t left join u on t.a = u.a where u.id > 0
select t.b, u.name from t full join u on t.a = u.a where u.id > 0 and t.b > 0
select t.b, u.name from t full join u on t.a = u.a where u.id > 0
select t.b, u.name from t full join u on t.a = u.a where coalesce(u.id, 0) >= 0 and t.b is not null
select t.b, u.name, v.n from t left join u on t.a = u.a left join v on u.a = v.a where v.n > 0 or u.name is null
select count(*) from t, u, v where t.a = u.a and u.a + 0 = v.a
select count(*) from t, u, v where t.b < u.id and u.a = v.a
