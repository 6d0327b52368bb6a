# Two commands: `make demo` shows what sfumato does, `make test` checks everything. Both install into .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check install format lint types imports tests docs clean

demo: install
	$(BIN)/sfumato demo --out demo --overwrite

test: check
check: install format lint types imports tests

install: $(VENV)/.installed
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "sfumato needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

format:
	$(BIN)/ruff format --check .
lint:
	$(BIN)/ruff check .
types:
	$(BIN)/mypy
imports:
	$(BIN)/lint-imports
tests:
	$(BIN)/pytest --numprocesses auto

docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
