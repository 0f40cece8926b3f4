# Every target sets itself up: it needs make and Python 3.11 or newer, and the package index that pip is configured for.
# `make demo` runs the main job, `make test` the tests, `make check` all that a change must pass.

VENV   ?= .venv
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
            command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
            && { echo $$p; exit; }; done; echo none)
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input install -qq --no-deps --no-compile
UV     ?= uv
DATA   ?=
PYTEST_ARGS ?=
# one process more than cores, because tests about waiting wait; four at most, because each collects all tests
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')

# The tests start hundreds of interpreters; without kept bytecode each of them compiles seven hundred modules anew.
unexport PYTHONDONTWRITEBYTECODE

# bench/eval_*.py want data from outside, the others do not; these are no measurements of their own
SCRIPTS := $(filter-out __init__ careless pack_demo mutate_fields mutations sabotage synthetic fts5 fit_support fit_ranker fit_abstention fit_answers fit_meaning agreement distill_words floor peers peer_server peer_smolagents peer_gpt_researcher healthy_runs,$(basename $(notdir $(wildcard bench/*.py))))
EVALS   := $(filter eval_%,$(SCRIPTS))
BENCHES := $(filter-out eval_%,$(SCRIPTS))

QUESTION := How did NIST guidance on password rotation, composition rules and length change between SP 800-63-3 and the draft of SP 800-63-4?
LOCK     := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-slow check check-without-tests format-check lint types imports dead-code docs docs-reference eval bench bench-peers mutate lock format clean
.NOTPARALLEL:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime  ## research a question over the shipped documents and print the report
	@$(BIN)/corrobora research "$(QUESTION)" --library demo

serve: $(VENV)/.serve  ## show the page with the report of the demo, and open it in a browser
	@$(BIN)/corrobora serve --demo --open

test: $(VENV)/.dev  ## the tests, in several processes; PYTEST_ARGS="-k budget" narrows them, WORKERS=0 keeps to one process
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-slow: $(VENV)/.dev  ## the proofs that take minutes: kills at many points, fleets of workers, 400 examples (not 40) a property
	@TESTS_EXAMPLES=400 $(BIN)/python -m pytest -m "slow or hypothesis" $(PYTEST_ARGS)

check: check-without-tests test  ## all that a change must pass: form, types, layers, docs, tests

check-without-tests: format-check lint types imports dead-code docs

format-check: $(VENV)/.dev
	@$(BIN)/ruff format --check --quiet . || { echo "Run 'make format'."; exit 1; }

lint: $(VENV)/.dev
	@$(BIN)/ruff check .

types: $(VENV)/.dev
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-logo

dead-code: $(VENV)/.dev  ## source that only tests use
	@$(BIN)/python -m bench.dead_code

docs: $(VENV)/.dev  ## the documentation site, into site/
	@$(BIN)/python docs/generate.py --check
	@$(BIN)/mkdocs build --strict --quiet

docs-reference: $(VENV)/.dev  ## write the generated parts of the documentation anew
	@$(BIN)/python docs/generate.py

format: $(VENV)/.dev  ## put the code into form, write the generated pages anew
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/python docs/generate.py

eval: $(VENV)/.dev  ## figures over evaluation data kept outside this repository: make eval DATA=FOLDER
	@test -d "$(DATA)" || { echo "make eval needs the folder with the evaluation data: make eval DATA=FOLDER" >&2; exit 2; }
	@for name in $(EVALS); do echo "== bench.$$name"; $(BIN)/python -m bench.$$name --data "$(DATA)" || exit; done

bench: $(VENV)/.dev  ## figures of cost and speed; they take minutes and want a quiet machine
	@for name in $(BENCHES); do echo "== bench.$$name"; $(BIN)/python -m bench.$$name || exit; done

bench-peers: $(VENV)/.dev  ## what one question costs beside a bare loop and two other programs, which it installs apart
	@$(BIN)/python -m bench.peers $(VENV)/peers

mutate: $(VENV)/.dev  ## every profile field, flag and numbered requirement, broken once, must make its tests fail; takes an hour
	@TESTS_EXAMPLES=100 $(BIN)/python -m bench.mutate_fields
	@TESTS_EXAMPLES=100 nice $(BIN)/python -m bench.sabotage --results $(VENV)/sabotage.jsonl

lock:  ## resolve the dependencies anew (needs uv; UV=PATH names it; UPGRADE=--upgrade takes newer versions)
	@$(LOCK) $(UPGRADE) pyproject.toml -o requirements.txt
	@$(LOCK) $(UPGRADE) requirements-build.in -o requirements-build.txt
	@$(LOCK) $(UPGRADE) --extra serve --extra export -c requirements.txt pyproject.toml -o requirements-serve.txt
	@$(LOCK) $(UPGRADE) --extra dev --extra dense --extra qdrant --extra serve --extra export --extra telemetry -c requirements-serve.txt -c requirements-build.txt pyproject.toml -o requirements-dev.txt

clean:  ## remove what the targets made here
	rm -rf $(VENV) site dist build .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Set-up. A stamp is newer than the lock it was made from, so a second run costs nothing. --no-deps: the lock is complete
# (a test compares it with the environment), and the resolver of older pip versions fails on extras such as lxml's.
# --no-compile: modules that are never imported need no bytecode, which saves a fifth of the space and most of the CPU.
$(BIN)/python:
	@test "$(PYTHON)" != none || { echo "Corrobora needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up $(VENV) with $$($(PYTHON) --version) ..." >&2
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "$(PYTHON) can not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.runtime: requirements.txt requirements-build.txt pyproject.toml | $(BIN)/python
	@echo "Installing $$(grep -c == requirements.txt) packages, once ..." >&2
	@$(PIP) --require-hashes -r requirements.txt -r requirements-build.txt
	@$(PIP) --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/.serve: requirements-serve.txt $(VENV)/.runtime
	@echo "Installing the page, the HTTP API and MCP, once ..." >&2
	@$(PIP) --require-hashes -r requirements-serve.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	@echo "Installing the tools for tests and checks, once ..." >&2
	@$(PIP) --require-hashes -r requirements-dev.txt
	@touch $@
