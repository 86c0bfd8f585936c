# Two commands do everything on a machine that has python3 (3.11 or newer) and make:
#   make demo    fit on a table with wrong labels, compare with AdaBoost, draw one figure
#   make test    lint, types, import rules and tests
PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.run
READY := .venv/.ready

.PHONY: demo test lint types tests format clean

demo: $(RUN)
	$(BIN)/python examples/wrong_labels.py

test: lint types tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	$(BIN)/pytest -n auto

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp is written last, so an install that was interrupted is done again. What the demo needs is
# less than what the tests need.
$(RUN): pyproject.toml CMakeLists.txt $(wildcard src/native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rboost needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[plots]"
	touch $@

$(READY): $(RUN)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@
