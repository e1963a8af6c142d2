"""dbt: seeds, models of each kind twice, tests, snapshots, documentation. Arguments: adapter, port, a directory."""

import os
import subprocess
import sys
from pathlib import Path

adapter, port, place = sys.argv[1], sys.argv[2], Path(sys.argv[3])
FILES = {
    "dbt_project.yml": "name: p\nversion: '1.0'\nprofile: p\n"
    "models: {p: {+persist_docs: {relation: true, columns: true}}}\n",
    "profiles.yml": "p:\n  target: it\n  outputs:\n    it:\n"
    f"      type: {adapter}\n      port: {port}\n      host: 127.0.0.1\n      user: root\n      password: ''\n"
    "      dbname: dev\n      schema: built\n      threads: 2\n",
    "seeds/raw.csv": "id,name,amount\n1,a,10\n2,b,20\n3,a,30\n",
    "models/t.sql": "{{ config(materialized='table') }} select id, name, amount from {{ ref('raw') }}",
    "models/v.sql": "{{ config(materialized='view') }} select name, sum(amount) as total from {{ ref('t') }}"
    " group by name",
    "models/mv.sql": "{{ config(materialized='materialized_view') }} select name, count(*) as n from {{ ref('t') }}"
    " group by name",
    "models/inc.sql": "{{ config(materialized='incremental', unique_key='id') }} select id, name from {{ ref('raw') }}"
    " {% if is_incremental() %} where id > (select max(id) - 1 from {{ this }}) {% endif %}",
    "models/schema.yml": "version: 2\nmodels:\n  - name: t\n    description: a table\n    columns:\n"
    "      - {name: id, description: the key, tests: [unique, not_null]}\n",
    "snapshots/s.sql": "{% snapshot snap %}{{ config(target_schema='built', unique_key='id', strategy='check',"
    " check_cols=['name']) }} select id, name from {{ ref('raw') }}{% endsnapshot %}",
}
for name, text in FILES.items():
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
COMMANDS = ["debug", "seed", "run", "run", "test", "docs generate"]
if adapter == "postgres":
    COMMANDS += ["run --full-refresh", "snapshot", "snapshot"]
environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
for command in COMMANDS:
    program = [str(Path(sys.executable).with_name("dbt")), *command.split(), "--profiles-dir", "."]
    done = subprocess.run(program, cwd=place, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, (command, done.stdout[-3000:])
