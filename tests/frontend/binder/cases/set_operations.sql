-- INTERSECT and EXCEPT
select a from t intersect select a from u
select a from t except select a from u
select a, f from t intersect select a, f from t where b > 10
select a, f from t except select a, f from t where b > 10
select a from t union select a from u except select 2
select a from t except select a from u union select 7
select a from t union select a from u intersect select 2
select a from t intersect select a from u order by a limit 1
select a as x, b from t except select 2, 20 order by x, 2
(select a from t order by a limit 2) intersect (select a from u)
select a from t intersect (select a from u union all select null)
select a from t except (select null::int)
select a from t intersect select b from t
select a from t except select 1.0
select c from t intersect select 1.50
select 1 intersect select '1'
select a from t intersect select d from t
select a, b from t except select a from u
select a from t union select d from t
select a from t union all select a, b from t
select a from t where a in (select a from u intersect select 2)
select a from t where exists (select a from u where u.a = t.a intersect select 2)
select a from t where exists (select u.a from u where u.a = t.a except select 2)
select a, (select count(*) from (select id from u where u.a = t.a except select 2) x) from t
select a, (select count(*) from (select id from u where u.a = t.a intersect select id from u where id <> t.a) x) from t
select * from (select a from t except select a from u) x, (select a from u intersect select a from t) y
select count(*) from (select a, b, c, d, e, f from t intersect select a, b, c, d, e, f from t) x
select null intersect select null
select a from t intersect select a from t where false
values (1), (2), (2) except values (2)
table u intersect table u
select a from t intersect select a from u order by b
select a from t except select a from u order by a + 1
-- WITH RECURSIVE
with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r
with recursive r(n) as (values (1) union select (n + 1) % 3 from r) select * from r
with recursive r(n, f) as (select 1, 1::bigint union all select n + 1, f * (n + 1) from r where n < 10) select * from r order by n desc limit 3
with recursive r as (select id, a from u where id = 1 union select u.id, u.a from u join r on u.id = r.a + 1) select * from r
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3), s as (select n * 10 as m from r) select * from r, s
with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select a, (select max(n) from r where n <= t.a) from t
with recursive r(n) as (select a from t where a is not null union select n + 1 from r where n + 1 in (select id from u)) select * from r
with recursive r(n) as (select 1 union all select n + 1 from (select * from r) x where n < 3) select x.n, y.n from r x join r y on x.n = y.n + 1
with recursive s as (select 1 as n) select * from s
with recursive r(n) as (select 1 union all select n + 1::bigint from r where n < 5) select * from r
with recursive r(n) as (select n from r union all select 1) select * from r
with recursive r(n) as (select 1 union all select x.n + 1 from r x, r y where x.n < 3) select * from r
with recursive r(n) as (select 1 union all select max(n) + 1 from r) select * from r
with recursive r(n) as (select 1 except select n + 1 from r) select * from r
with recursive r(n) as (select 1 union all select n from t left join r on true) select * from r
with recursive r(n) as (select 1 union all select a from t where a in (select n from r)) select * from r
with recursive r(n) as (select 1 union all select n + 1 from r order by 1) select * from r
with recursive r(n, m) as (select 1 union all select n + 1 from r) select * from r
with recursive r(n) as (select 1 union all select n + 1, 2 from r) select * from r
-- ALL
select a from t intersect all select a from u
select a from t except all select a from u
select a from t union all select a from t except all select a from u
select a from t intersect all (select 2 union all select 2 union all select null)
select a from t except all (select 2 union all select 7)
select a from t except all select a from u intersect all select 2 order by 1
select a, f from t intersect all select a, f from t where b > 10
select a, (select count(*) from (select id from u where u.a = t.a except all select 2) x) from t
select a, (select max(r) from (select rank() over (partition by name order by id) as r from u where u.a <= t.a) x) from t
