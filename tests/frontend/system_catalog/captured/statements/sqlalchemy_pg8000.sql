-- SQLAlchemy 2.1.9 + pg8000

--@ simple | first connect (initialize)
begin transaction;

--@ simple | first connect (initialize)
select pg_catalog.version();

--@ simple | first connect (initialize)
select current_schema();

--@ simple | first connect (initialize)
show transaction isolation level;

--@ simple | first connect (initialize)
show standard_conforming_strings;

--@ extended | first connect (initialize)
rollback;

--@ simple | get_columns
begin transaction;

--@ extended | get_columns
rollback;
