# Everything that people and CI run. `demo` and `test` do all they need on a fresh clone.
.DEFAULT_GOAL := help
.PHONY: help demo demo-kafka demo-postgres demo-stock-server closed-doors test test-slow test-all test-real test-long bench cost scale soak counts lint golden format server report docs dbt-docs jars lock clean
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

BIN := .venv/bin
PROOF_SEED ?= $(shell date +%Y%m%d)
# two processes that share a server: while one plans, which takes one core, the other has the second
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=20 --ignore=tests/macros
REAL ?=
# need no server, and are part of `lint`
MACROS := $(BIN)/python -m pytest -q --no-header -n 2 --dist loadfile tests/macros
READY := .venv/.ready
PROFILES := .build/profiles/profiles.yml
export DBT_PROFILES_DIR := $(CURDIR)/.build/profiles
export DBT_SEND_ANONYMOUS_USAGE_STATS := false
export PATH := $(CURDIR)/$(BIN):$(PATH)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) jars $(PROFILES)  ## land three batches of change rows of one feed, build after each, compare with the source; FEED=… for another, FEED=all for the five that have models in models/; FORMAT=iceberg
	@$(BIN)/python -m demo $(if $(FEED),--feed "$(FEED)") $(if $(FORMAT),--table-format "$(FORMAT)")

demo-kafka: $(READY) jars $(PROFILES)  ## the Kafka feed through a real broker: produce, land by Spark's Kafka source, build, compare
	@$(BIN)/python -m tests.systems.kafka

demo-postgres: $(READY) jars $(PROFILES)  ## the event log out of a real PostgreSQL: triggers write it, Spark lands it over JDBC, build, compare
	@$(BIN)/python -m tests.systems.postgres

closed-doors: $(READY) jars $(PROFILES)  ## the server with TLS and the LDAP of a real slapd: who must not come in, and dbt, which must
	@$(BIN)/python -m tests.systems.closed_doors

demo-stock-server: $(READY) jars $(PROFILES)  ## Qlik change tables on Spark's own Thrift server, without our functions: land, build, compare
	@$(BIN)/python -m tests.systems.stock_server

test: lint  ## all checks, and of each feed, of the functions and of the statements of a run the tests
	@$(PYTEST) -m "not slow"

test-slow: $(READY) jars $(PROFILES)  ## the tests that `test` leaves out: random builds, runs that meet or are killed, specs that change, maintain, purge, forget, Iceberg, the server, the wheel
	@$(PYTEST) -m slow

test-all: lint  ## what CI runs: all checks and tests, and the real runs whose code has changed since they passed
	@$(PYTEST)
	@$(BIN)/python -m tests.systems.real_runs --changed

test-real: $(READY) jars $(PROFILES)  ## runs against real systems, as tests: each passes, and says so, where what it runs cannot be had; REAL=… for some
	@$(BIN)/python -m tests.systems.real_runs $(REAL)

# what a table format other than Delta could change of a page; CI runs all of them on Delta
PAGES := $(addsuffix .py,$(addprefix test_,semantics_page interrupted_runs qlik_change_tables qlik_kafka goldengate_trail \
    idm_event_log openedge_cdc mapped))

test-long: lint  ## the proof with ten times the histories, other ones each day; PROOF_SEED=… for certain ones; FORMAT=iceberg
	@CHANGE_TABLES_PROOF_SCALE=10 CHANGE_TABLES_PROOF_SEED=$(PROOF_SEED) $(if $(FORMAT),CHANGE_TABLES_TABLE_FORMAT=$(FORMAT)) \
	    $(BIN)/python -m pytest tests/pipelines/test_random_histories.py tests/pipelines/test_event_histories.py \
	    tests/pipelines/test_random_feeds.py tests/pipelines/test_random_deliveries.py \
	    tests/pipelines/test_table_lives.py tests/pipelines/test_random_described_feeds.py \
	    tests/pipelines/test_shared_rows.py $(if $(FORMAT),$(addprefix tests/pipelines/,$(PAGES)))

lint: $(READY) jars $(PROFILES)  ## the checks that need no server, the macros and their SQL among them
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy & types=$$!; \
	    $(BIN)/dbt --quiet --warn-error parse --no-partial-parse; \
	    $(BIN)/python -m docs.pages --check; \
	    wait $$types
	@$(MACROS)

golden: $(READY)  ## write what the macros render now into the golden files, and list those that have changed; read what git says of them
	@ACCEPT_GOLDEN=1 $(MACROS)/test_golden.py

format: $(READY)  ## format the Python code
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

server: $(READY) jars  ## a Thrift server on port 10000 until Ctrl-C, its tables in .build/server
	@$(BIN)/python -m change_tables server --warehouse .build/server

bench: $(READY) jars  ## the models beside SQL by hand: make bench, make bench BENCH='--changes 500000 --keys 50000'; FORMAT="delta iceberg"
	@$(BIN)/python -m benchmarks $(if $(FORMAT),--table-format $(FORMAT)) $(BENCH)

cost: $(READY) jars $(PROFILES)  ## processor time of runs by kind of node: make cost, make cost COST='--tables 20 --against HEAD~1'; FORMAT="delta iceberg"
	@$(BIN)/python -m benchmarks.cost $(if $(FORMAT),--table-format $(FORMAT)) $(COST)

scale: $(READY) jars  ## how cost grows: loads of 1 to 50 million changes, and a batch into each; takes long: make scale SCALE='--changes 1000000'
	@$(BIN)/python -m benchmarks.scale $(SCALE)

soak: $(READY) jars  ## many small batches into one table, maintained between: its files, and what a run costs; takes long: make soak SOAK='--batches 100'
	@$(BIN)/python -m benchmarks.soak $(SOAK)

counts: $(READY) jars  ## write again what a run costs in statements, scans and steps, to which tests hold it
	@CHANGE_TABLES_COUNTS=write $(BIN)/python -m pytest -q tests/pipelines/test_run_counts.py

docs: $(READY)  ## the pages that the code makes, and the site of docs/, in target/site/index.html
	@$(BIN)/python -m docs.pages
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

report: $(READY) jars  ## what the runs of the demo's tables have found, and what to do next: target/report.html; REPORT=… for further options
	@$(BIN)/python -m change_tables.server.local_server --folder .build/demo -- $(BIN)/python -m change_tables report --html target/report.html $(REPORT)

dbt-docs: $(READY) jars $(PROFILES)  ## dbt's documentation of the demo, in target/static_index.html
	@$(BIN)/python -m change_tables.server.local_server --folder .build/demo -- $(BIN)/dbt docs generate --static

jars: $(READY)  ## Delta's jars and an archive of the server's classes, into .build/jars; FORMAT=iceberg: Iceberg's, too
	@$(BIN)/python -m change_tables jars --quiet$(if $(filter iceberg,$(FORMAT)), --iceberg)

lock: $(READY)  ## compile requirements.txt from pyproject.toml
	@$(BIN)/uv pip compile --quiet --upgrade --no-strip-extras --generate-hashes --python-version 3.11 pyproject.toml --extra dbt --extra report --extra dev -o requirements.txt

clean:  ## remove all that was made, the environment included
	@rm -rf .venv .build target logs dbt_packages .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The lock is installed by uv, which the lock pins as well. Redone when the lock changes.
$(READY): requirements.txt
	@python=$$(command -v python3.11 || command -v python3 || true); \
	"$$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null \
	    || { echo "change_tables: needs Python 3.11 on the PATH, as python3.11 or python3: install it and run make again" >&2; exit 1; }; \
	echo "setting up .venv, once"; \
	"$$python" -m venv .venv; \
	awk '/^[^ #]/ {wanted = ($$0 ~ /^uv==/)} wanted' requirements.txt > .venv/uv.txt; \
	{ $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.txt \
	    && VIRTUAL_ENV="$(CURDIR)/.venv" $(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes requirements.txt; } 2> .venv/setup.log \
	    || { tail -n 3 .venv/setup.log >&2; echo "change_tables: could not install requirements.txt: check the network or pip's index settings, and run make again" >&2; exit 1; }
	@touch $@

$(PROFILES): profiles_example.yml
	@mkdir -p $(@D) && cp $< $@
