-- pg8000 1.31.6

--@ extended ["4"] | native connect+param
select $1::int;

--@ simple | dbapi execute+commit
begin transaction;

--@ extended ["1"] | dbapi execute+commit
select $1;

--@ extended | dbapi execute+commit
commit;
