# `make help` lists the targets. They need only make and Python 3.11 or newer.

SHELL := /bin/sh
V := .venv
BIN := $(V)/bin

# The first interpreter that is new enough and can make an environment, or else that is new enough. The
# system's comes first: it is optimized for its own profile, and takes two thirds of the CPU time of a
# plain build. A name alone is not enough, because version managers leave stubs.
PYTHON ?= $(shell for needed in ensurepip sys; do \
	for p in /usr/bin/python3 python3.11 python3.12 python3.13 python3.14 python3 python; do \
	if $$p -c "import $$needed, sys; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; then \
	echo $$p; exit; fi; done; done)

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	--no-deps --require-hashes --only-binary :all:

# Each test process, and each server that tests start, would compile all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup install run demo test test-fast check torture soak fuzz bench screenshots format audit lock

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(V)/.stamp-browser ## Install everything for development (idempotent)

install: $(V)/.stamp ## Install only what serving needs

run: $(V)/.stamp ## Serve on HOST:PORT (127.0.0.1:8000), data in instance/
	@exec $(BIN)/python -m flask --app wsgi serve

demo: $(V)/.stamp ## Serve a sample project, data in demo/; it prints how to log in
	@mkdir -p demo && INSTANCE_DIR=demo exec $(BIN)/python -m flask --app wsgi demo

test: $(V)/.stamp-browser ## Run all tests on SQLite and PostgreSQL (T=path for some, ARGS=... for pytest)
	@$(BIN)/python -m pytest --numprocesses 4 --dist worksteal $(T) $(ARGS)

test-fast: $(V)/.stamp-test ## Run on SQLite what needs no server and no browser, in two minutes (T=path, ARGS=...)
	@$(BIN)/python -m pytest --numprocesses 3 --dist worksteal --db=sqlite -m "not slow" \
		--ignore=tests/browser --ignore=tests/server $(T) $(ARGS)

check: $(V)/.stamp-test ## Format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

torture: $(V)/.stamp-test ## Inject faults into the real server (MINUTES=20, SHORT=1 for CI, ARGS=...)
	@$(BIN)/python -m tests.torture --minutes $(or $(MINUTES),20) $(if $(SHORT),--short) $(ARGS)

soak: $(V)/.stamp-test ## Mixed load at half of the capacity, an hour on each database (ARGS="--minutes 5")
	@$(BIN)/python -m tests.torture.soak $(ARGS)

fuzz: $(V)/.stamp-test ## Fuzz for hours (CASES=50000 requests, RUNS=2000 of STEPS=50 against a model)
	@LONG=1 CASES=$(or $(CASES),50000) RUNS=$(or $(RUNS),2000) STEPS=$(or $(STEPS),50) \
		$(BIN)/python -m pytest --numprocesses 2 tests/activity/test_receipts_ledger.py tests/commands/test_copy_and_restore.py \
		tests/contract/test_fuzz.py tests/files/test_hostile.py tests/fuzz \
		tests/integrations/test_doors.py tests/integrations/test_orders.py tests/markdown \
		tests/mcp/test_log.py tests/migrations/test_with_data.py tests/rewind/test_afternoon.py \
		tests/search/test_agreement.py tests/search/test_any_input.py \
		tests/search/test_ranking.py tests/server/test_draining.py tests/server/test_waiting.py \
		tests/text/test_diff.py tests/web/test_garbage.py tests/wiki/test_wikilinks.py $(ARGS)

bench: $(V)/.stamp-test ## Benchmark the real server (ARGS="--seconds 5 --clients 1 16", see --help)
	@$(BIN)/python -m tests.bench $(ARGS)

screenshots: $(V)/.stamp-browser ## Take screenshots of every page into screenshots/ (ARGS="board --look phone-dark" for some)
	@$(BIN)/python -m tests.screenshots $(ARGS)

format: $(V)/.stamp-test ## Format the code and apply ruff's fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

audit: $(V)/.stamp-audit ## Write sbom.json (CycloneDX) from the lock files, and check them for known vulnerabilities
	@cat requirements.txt requirements-docs.txt | PYTHONWARNINGS=ignore $(BIN)/cyclonedx-py requirements \
		--pyproject pyproject.toml --output-reproducible --output-format JSON --output-file sbom.json -
	@$(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements.txt -r requirements-docs.txt

# pip installs the hashed lock files. If Python has no ensurepip (Debian without python3-venv),
# virtualenv makes the environment.
$(V)/bin/python:
	@test -n "$(PYTHON)" || { echo "Docket needs Python 3.11 or newer." >&2; exit 1; }
	@$(PYTHON) -m venv $(V) >/dev/null 2>&1 || { rm -rf $(V) \
	&& $(PYTHON) -m pip install --quiet --target .boot virtualenv \
	&& PYTHONPATH=.boot $(PYTHON) -m virtualenv --quiet --no-periodic-update $(V); }

$(V)/.stamp: requirements.txt requirements-docs.txt | $(V)/bin/python
	@$(INSTALL) -r requirements.txt -r requirements-docs.txt
	@touch $@

$(V)/.stamp-audit: requirements-audit.txt $(V)/.stamp
	@$(INSTALL) -r requirements-audit.txt
	@touch $@

$(V)/.stamp-test: requirements-test.txt $(V)/.stamp
	@$(INSTALL) -r requirements-test.txt
	@touch $@

$(V)/.stamp-browser: requirements-browser.txt $(V)/.stamp-test
	@$(INSTALL) -r requirements-browser.txt
	@touch $@

# For maintainers. Only this target needs uv. The lock files work with any pip on every platform, and
# name no index.
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-emit-index-url
# Dependencies of the packages of which only static files are used.
UNUSED := $(foreach p,django asgiref sqlparse flask-openapi3 pydantic pydantic-core \
	annotated-types typing-inspection,--no-emit-package $(p))
# Other dependencies of the renderers, which are in requirements.txt.
SHARED := $(foreach p,blinker click flask itsdangerous jinja2 markupsafe typing-extensions werkzeug,--no-emit-package $(p))
DOCS := import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")

S3 := $(subst "docs","s3",$(DOCS))

lock: ## Resolve the lock files (needs uv; UPGRADE=--upgrade for new versions)
	$(COMPILE) $(UPGRADE) $(UNUSED) pyproject.toml requirements.in -o requirements.txt
	$(PYTHON) -c '$(DOCS)' | $(COMPILE) $(UPGRADE) $(UNUSED) $(SHARED) -c requirements.txt - -o requirements-docs.txt
	$(PYTHON) -c '$(S3)' | $(COMPILE) $(UPGRADE) --no-emit-package urllib3 -c requirements.txt - -o requirements-s3.txt
	$(COMPILE) $(UPGRADE) -c requirements.txt -c requirements-s3.txt --group test -o requirements-test.txt
	$(COMPILE) $(UPGRADE) -c requirements.txt -c requirements-test.txt --group browser -o requirements-browser.txt
	$(COMPILE) $(UPGRADE) -c requirements.txt -c requirements-test.txt --group audit -o requirements-audit.txt
