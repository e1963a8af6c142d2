"""Types that users create.

create_type    CREATE TYPE … AS ENUM
alter_type     ALTER TYPE: values, names, schemas
drop_type      DROP TYPE and DROP DOMAIN
create_domain  CREATE DOMAIN
composite_type CREATE TYPE … AS (…), ALTER TYPE … ATTRIBUTE
alter_domain   ALTER DOMAIN: the default, NOT NULL, constraints
type_texts     what becomes of the texts that name a type or a label
"""
