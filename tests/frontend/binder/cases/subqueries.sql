-- One query a line. t(a int, b bigint, c numeric, d varchar, e double, f boolean), u(id int, a int, name varchar, at timestamp)

-- scalar
select (select max(id) from u)
select a, (select max(id) from u) as m from t
select a, (select max(u.id) from u where u.a = t.a) from t
select a, (select count(*) from u where u.a = t.a) from t
select a, (select count(*) + 1 from u where u.a = t.a) from t
select a, (select coalesce(sum(id), -1) from u where u.a = t.a) from t
select a, (select sum(id) + t.a from u where u.a = t.a) from t
select a, (select max(id) from u where u.a < t.a) from t
select a, (select count(*) from u where u.a < t.a or u.id = t.b / 10) from t
select a, (select count(name) from u where u.a is not distinct from t.a) from t
select a, (select t.a + 1) from t
select a, (select t.a + 1 where t.b > 15) from t
select a, (select name from u where u.id = t.a) from t
select a, (select name from u where u.a = t.a) from t where a = 1
select a, (select name from u where u.a = t.a) from t
select (select name from u where false)
select (select name from u)
select (select id, name from u)
select (select 'x'), (select null), pg_typeof((select 1))
select (select a from t where b = 10) + (select id from u where name = 'x')
select a from t where b > (select avg(b) from t)
select a, b from t where b = (select max(b) from t x where x.a = t.a)
select a, b from t where b > (select min(b) from t x where x.a = t.a) and e is null
select a, case when a > 1 then (select max(name) from u where u.a = t.a) else 'low' end from t
select a, (select sum(id) from u where u.a = t.a having count(*) > 1) from t
select a, (select count(*) from u where u.a = t.a having count(*) > 1) from t
select a, (select count(distinct id) from u where u.a = t.a) from t
select a, (select max(s) from (select sum(id) as s from u where u.a = t.a group by name) x) from t
select a, (select count(*) from (select distinct name from u where u.a >= t.a) x) from t
select a, (select max(x) from (select id as x from u where u.a = t.a union all select t.a * 100) y) from t
select (select (select max(id) from u)) from t
select (select (select t.a)) from t
select a, (select (select max(u.id) from u where u.a = x.a + t.a - t.a) from t x where x.b = t.b) from t
select a, (select max(b) filter (where x.a = t.a) from t x) from t
select (select max(id) from u where u.a = v.a) as m, n from v
select a from t order by (select max(id) from u where u.a = t.a), b
select a, (select max(id) from u where u.a = t.a) as m from t order by m, a, b
select distinct (select count(*) from u where u.a = t.a) from t
select sum((select count(*) from u where u.a = t.a)) from t
select a, sum((select count(*) from u where u.a = t.a)) from t group by a
select (select count(*) from u where u.a = t.a), count(*) from t group by t.a
select (select count(*) from u where u.a = t.a), count(*) from t group by t.b
select (select count(*) from u where u.a = t.a) as n, count(*) from t group by 1
select (select count(*) from u where u.a = t.a), count(*) from t group by (select count(*) from u where u.a = t.a)
select a, count(*) from t group by a having count(*) > (select count(*) from u where u.a = t.a)
select a, count(*) from t group by a having (select count(*) from u where u.a = t.a) = 0
select a, (select max(u.id) from u where u.id < count(*) + 2) from t group by a
select a, (select u.name from u where u.id = sum(t.a)) from t group by a
select (select max(t.a)) from t
select a from t where (select true)
select a from t where (select f from t x where x.b = t.b)
select a from t where a = (select min(a) from u where id = t.b / 10) or a is null
select (select max(a) from t where t.a = u.a) || name from u
-- EXISTS
select a from t where exists (select 1 from u)
select a from t where exists (select 1 from u where false)
select a from t where not exists (select 1 from u where false)
select a, b from t where exists (select 1 from u where u.a = t.a)
select a, b from t where not exists (select 1 from u where u.a = t.a)
select a, b from t where exists (select * from u where u.a = t.a and u.id > t.a)
select a, b from t where not exists (select * from u where u.a = t.a and u.id <> t.a)
select a, b from t where not exists (select 1 from u where u.a > t.a)
select a, exists (select 1 from u where u.a = t.a) from t
select a, not exists (select 1 from u where u.a = t.a) as x from t
select a from t where exists (select 1 from u where u.a = t.a) or b = 30
select a from t where not (exists (select 1 from u where u.a = t.a) and b > 10)
select a from t where exists (select count(*) from u where u.a = t.a)
select a from t where exists (select sum(id) from u where u.a = t.a having count(*) > 1)
select a from t where exists (select a from u where u.a = t.a group by a having count(*) > 1)
select a from t where exists (select 1 / 0 from u where u.a = t.a)
select a from t where exists (select 1 from u join t x on x.a = u.a where x.b = t.b)
select a from t where exists (select 1 from u where u.a = t.a and exists (select 1 from t x where x.a = u.id))
select a from t where exists (select 1 from u where exists (select 1 from t x where x.a = u.a and x.b = t.b))
select a from t where not exists (select 1 from u where not exists (select 1 from t x where x.a = u.a and x.a = t.a))
select a from t where not exists (select 1 from u where exists (select 1 from t x where x.a = u.a and x.b = t.b))
select a from t where exists (select 1 from u left join t x on x.a = u.a where u.a = t.a and x.b is null)
select a from t where exists (select 1 from u left join t x on x.a = u.a and x.b = t.b where x.b is null and u.a = t.a)
select a from t where exists (select 1 from u full join (select * from t y where y.a = t.a) x on x.a = u.a where x.a is null)
select a from t where exists (select u.a from u where u.a = t.a union select 5 where t.b = 30)
-- IN and NOT IN
select a, b from t where a in (select a from u)
select a, b from t where a not in (select a from u)
select a, b from t where a not in (select a from t x where x.a > 1)
select a, b from t where a not in (select a from t)
select a, b from t where a not in (select a from u where false)
select a, b from t where a not in (select id from u)
select a, b from t where a in (select id from u where u.a = t.a)
select a, b from t where a not in (select id from u where u.a = t.a)
select a, b from t where a not in (select x.a from t x where x.b > t.b)
select a, a in (select a from u) from t
select a, a not in (select a from u) from t
select a, a in (select a from t where a > 1 or a is null) from t
select a, a not in (select x.a from t x where x.b > t.b) from t
select a, a in (select a from u where false), a not in (select a from u where false) from t
select a from t where a in (select id from u) or b = 50
select a from t where not (a in (select id from u) and b > 10)
select a from t where a + 1 in (select id + 1 from u)
select a from t where 2 in (select u.a from u where u.id = t.a)
select a from t where '1' in (select name from u)
select a from t where b in (select id * 10 from u)
select a from t where c in (select 1.5)
select a from t where d in (select 'one' union all select 'Two')
select a from t where a in (values (1), (3))
select a from t where a in (with x as (select 2 as y) select y from x)
select a from t where a in ((select 1))
select a from t where a in ((select 1), 3)
select a from t where (a, b) in (select 2, 20)
select a, b from t where (a, b) in (select a, b from t where b > 10)
select a, b from t where (a, b) not in (select a, b from t where b > 10)
select a, b from t where (a, b) not in (select 2, null::bigint)
select a, b, (a, b) in (select 2, null::bigint) from t
select a, b, (a, b) not in (select a, b from t x where x.a = t.a) from t
select a, b from t where row(a, b) in (select 2, 20)
select a from t where a in (select a, id from u)
select a from t where (a, b) in (select a from u)
select a from t where d in (select a from u)
select a from t where (select max(a) from t) in (select a from t)
select a from t where (select max(u.a) from u where u.a = t.a) in (select a from t)
-- ANY, SOME, ALL
select a from t where a = any (select a from u)
select a from t where a = some (select a from u)
select a from t where a <> any (select a from u)
select a from t where a <> all (select a from u)
select a from t where a <> all (select a from t)
select a from t where a > any (select id from u)
select a from t where a > all (select id from u where id < 2)
select a from t where a >= all (select a from t where a is not null)
select a from t where a >= all (select a from t)
select a from t where a > all (select a from u where false)
select a from t where not a > all (select id from u)
select a, a > any (select id from u), a > all (select a from t where a < 2), a < all (select a from t), a <= any (select a from t) from t
select a, a > any (select id from u where false), a > all (select id from u where false) from t
select a, a <> any (select a from u), a <> all (select a from t), a = all (select 2), a = all (select a from u) from t
select a, b > all (select x.b from t x where x.a = t.a and x.b <> t.b) from t
select a, b >= any (select x.b from t x where x.a = t.a) from t
select d from t where d like any (select '%o%')
select d, d like all (select '%o%' union select 'o%') from t
select a from t where a + any (select 1) > 0
-- ON
select t.a, u.id from t join u on t.a = u.a and u.id in (select max(id) from u)
select t.a, u.id from t join u on t.a = u.a and exists (select 1 from t x where x.a = u.id and x.b = t.b)
select t.a, u.id from t left join u on t.a = u.a and u.id = (select max(id) from u x where x.a = u.a)
select t.a, u.id from t left join u on t.a = u.a and t.b = (select max(b) from t x where x.a = t.a)
select t.a, u.id from t left join u on t.a = u.a and (select count(*) from v) > 100
select t.a, u.id from t right join u on t.a = u.a and t.b = (select max(b) from t x where x.a = t.a)
select t.a, u.id from t full join u on t.a = u.a and u.id = (select max(id) from u x where x.a = u.a)
-- WITH
with x as (select max(id) as m from u) select a, (select m from x) from t
with x as (select a, count(*) as n from u group by a) select t.a, (select n from x where x.a = t.a), (select max(n) from x) from t
select a, (with x as (select t.a as y) select y + 1 from x) from t
select a, (with x as (select t.a as y) select (select y from x) + (select sum(y) from x, u)) from t
with x as (select 1 as y), z as (select y + 1 as y from x) select (select y from z), (select y from x)
with x as (select a from t) select * from x where a in (select a from x where a > 1)
with x as (with y as (select max(a) as m from t) select m from y) select m, (select m from x) from x
-- row comparisons
select a, b from t where (a, b) = (2, 20)
select a, b from t where (a, b) <> (2, 20)
select a, b from t where (a, b) < (2, 30)
select a, b from t where (a, b) <= (2, 20)
select a, b from t where (a, b) > (2, 20)
select a, b from t where row(a, b) >= row(2, 20)
select a, b, (a, b) < (2, 30), (a, b) >= (3, 0), (a, b) = (2, null), (a, b) <> (2, null) from t
select a, b from t where (a, b) = (select 2, 20)
select a, b from t where (a, b, 1) = (select 2, 20)
select a, b from t where (a, b) < (select a, b from t where b = 30)
select a from t where (a, b) = (1, 2, 3)
select a from t where (a, b) in ((1, 10), (2, 30))
-- LATERAL
select t.a, s.x from t, lateral (select t.a + 1 as x) s
select t.a, s.m from t, lateral (select max(id) as m from u where u.a = t.a) s
select t.a, s.id from t, lateral (select id from u where u.a = t.a) s
select t.a, s.id from t left join lateral (select id from u where u.a = t.a) s on true
select t.a, s.id from t left join lateral (select id from u where u.a = t.a) s on s.id > 2
select t.a, s.id from t left join lateral (select id + t.a as id from u where u.a = t.a) s on s.id > 4
select t.a, s.id from t join lateral (select id from u where u.a > t.a) s on s.id > 2
select t.a, s.id from t cross join lateral (select id from u where u.a = t.a) s
select t.a, w.x from t, lateral (values (t.a), (t.b)) w(x)
select v.a, w.x from (values (1, 2), (3, 4)) v(a, b), lateral (values (v.a), (v.b), (v.a + v.b)) w(x)
select t.a, s.n, r.m from t, lateral (select count(*) as n from u where u.a = t.a) s, lateral (select s.n + 1 as m) r
select t.a, u.id, s.x from t, u join lateral (select t.a + u.id as x) s on true where t.a = 1
select t.a, s.x from t, lateral (select x.b as x from t x where x.a = t.a union all select t.b) s
select t.a, s.n from t, lateral (select name, count(*) as n from u where u.a >= t.a group by name) s
select t.a, s.x from t right join lateral (select t.a as x) s on true
select a, (select sum(s.x) from u, lateral (select u.id + t.a as x) s where u.a = t.a) from t
select t.a, s.* from t left join lateral (select u.name, x.b from u join t x on x.a = u.id where u.a = t.a) s on true
-- names and errors
select (select x from u) from t
select (select t.x from u) from t
select (select zz.x from u) from t
select a from t where exists (select a, id from u where a = id and t.a = u.a)
select (select u.a from u where id = 1), a from t where a > (select a from u where id = 1)
-- LIMIT
select a, (select name from u where u.a = t.a order by id desc limit 1) from t
select a, (select id from u where u.id >= t.a order by id limit 1) from t
select a, (select id from u where u.id >= t.a order by id offset 1 limit 1) from t
select a, (select name from u where u.a = t.a order by id limit 0) from t
select a, (select max(id) from (select id from u where u.a = t.a order by id limit 1) x) from t
select t.a, s.id from t, lateral (select id from u where u.a = t.a order by id desc limit 1) s
select t.a, s.id from t left join lateral (select id from u where u.id > t.a order by id fetch first 2 rows only) s on true
select t.a, s.id from t left join lateral (select id, name from u where u.id > t.a order by a fetch first 1 row with ties) s on s.id > 2
select a from t where exists (select 1 from u where u.a = t.a limit 1)
select a from t where exists (select 1 from u where u.a = t.a offset 1)
select a from t where a in (select id from u where u.a >= t.a order by id limit 1)
select a, (select id from u where u.a = t.a) from t where a = 2
