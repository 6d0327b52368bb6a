# `make` lists what there is. Everything installs into .venv first.
VENV   := .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN    := $(VENV)/Scripts
else
PYTHON ?= python3
BIN    := $(VENV)/bin
endif

.DEFAULT_GOAL := help
.PHONY: help demo test check warm more quick fuzz papers coverage install format lint types imports tests docs wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: install ## make up a hospital, anonymize it, say where the report is
	$(BIN)/sfumato demo --out demo --overwrite

test: check ## all that must be green before a change is offered (under 10 minutes)
check: install
	$(MAKE) -j2 warm format lint types imports
	$(MAKE) tests

more: install ## the tests that need a browser, Java, PostgreSQL or R: skipped with the reason where they are missing
	SFUMATO_TEST_MORE=1 $(BIN)/pytest --numprocesses auto -m more tests/system

# Compiled tests are kept, whatever the environment says, and each file has one process: what its tests share is made once.
quick: install ## the tests of the inner loop (under a minute on two cores): no whole command, no browser, nothing marked slow
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses auto --dist loadfile --hypothesis-profile quick -m "not slow" \
		tests/unit tests/conformance

SECONDS ?= 300
fuzz: install ## random plans on random tables for SECONDS=300, judged by slow definitions
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS)

DATA  ?= data
QUICK ?=
papers: install ## every figure of the four papers again: DATA=folder, QUICK=1 for under ten minutes
	$(BIN)/python benchmarks/papers.py $(DATA) $(if $(QUICK),--quick) --out papers

coverage: install ## which lines the quick tests run, outside compiled loops, with a floor
	$(BIN)/pytest --numprocesses auto --cov --cov-report=term:skip-covered -m "not slow" tests/unit tests/conformance tests/properties

warm: install ## compile the inner loops ahead, once for all that runs them
	$(BIN)/sfumato warm
format: install ## is everything formatted?
	$(BIN)/ruff format --check .
lint: install ## what ruff finds
	$(BIN)/ruff check .
types: install ## what mypy finds, here and as on Windows
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --no-warn-unreachable --cache-dir .mypy_cache/win32
imports: install ## do imports point the right way?
	$(BIN)/lint-imports
tests: install ## the tests alone
	$(BIN)/pytest --numprocesses auto

docs: install ## the documentation, into site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

wheel: install ## what would be uploaded, into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

install: $(VENV)/.installed ## sfumato and what its tests need, into .venv
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sfumato needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

clean: ## remove all that was made here
	rm -rf $(VENV) demo papers site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .import_linter_cache
