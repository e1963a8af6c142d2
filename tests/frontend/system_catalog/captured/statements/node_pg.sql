-- node pg 8.23.1

--@ simple | node/t.js (query, params, cursor)
select 1 as a,'x' as b,null as n;

--@ extended ["41"] | node/t.js (query, params, cursor)
select $1::int+1 as a;

--@ extended ["v5"] | node/t.js (query, params, cursor)
select * from kv where v=$1;

--@ extended [null] | node/t.js (query, params, cursor)
select $1::int as a;

--@ extended ["0"] | node/t.js (query, params, cursor)
select v from kv where k=$1;

--@ extended ["1"] | node/t.js (query, params, cursor)
select v from kv where k=$1;

--@ extended ["2"] | node/t.js (query, params, cursor)
select v from kv where k=$1;

--@ simple | node/t.js (query, params, cursor)
select 1 as a; select 2 as b;

--@ simple | node/t.js (query, params, cursor)
select * from nope;

--@ simple | node/t.js (query, params, cursor)
select 5 as a;

--@ simple | node/t.js (query, params, cursor)
select true as a,false as b;

--@ extended | node/t.js (query, params, cursor)
select k from kv;

--@ extended | node/t.js (query, params, cursor)
select k from kv;

--@ simple | node/t.js (query, params, cursor)
select 9 as z;

--@ simple | node/t.js (query, params, cursor)
select ts,tstz,d,by,num,js,st from alltypes;
