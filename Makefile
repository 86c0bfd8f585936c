# Two commands do everything on a machine that has python3 (3.11 or newer) and make:
#   make demo    audit a table with planted label errors, count how many are found, write a report
#   make test    lint, types, import rules and tests
# and while working, make quick runs the tests that take no browser, no peer and no patience.
PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.run
READY := .venv/.ready

.PHONY: demo test quick lint types tests format clean

demo: $(RUN)
	$(BIN)/python examples/find_planted_errors.py

# Some tests wait for a browser or a server; meanwhile types are checked. If they are wrong, that
# stands once more at the end.
test: lint
	$(MAKE) --jobs 2 types tests || { $(BIN)/mypy; exit 1; }

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	@$(PYTHON) tools/count_lines.py --totals

types: $(READY)
	$(BIN)/mypy

# One process a core, so one thread each: more would only wait for each other.
# A process that has run its share takes over tests of another, so that none is idle for long.
# Compiled modules are kept, or each process would compile them all once more.
ONE_THREAD := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := -m pytest -n auto --dist worksteal
QUICK := -m "not slow and not browser and not peers" --hypothesis-profile quick
tests: $(READY)
	$(ONE_THREAD) $(BIN)/python $(PYTEST)

quick: $(READY)
	$(ONE_THREAD) $(BIN)/python $(PYTEST) $(QUICK) --ignore src/rboost/dask

# Which lines of src/rboost no test runs, in other processes too.
.PHONY: coverage
coverage: $(READY)
	$(ONE_THREAD) $(BIN)/python $(PYTEST) --cov=rboost \
	  --cov-report=term-missing:skip-covered --cov-fail-under=95

# The sdist, the wheel of the stable ABI, which Python 3.12 has first, and one without the native
# core, in dist/.
PYTHON_OLDEST ?= python3.11
PYTHON_ABI3 ?= python3.12
PYTHON_NEWEST ?= python3.13
PURE := -C wheel.cmake=false -C wheel.py-api=py3
.PHONY: wheels
wheels:
	rm -rf dist build/wheels
	$(PYTHON_ABI3) -m venv build/wheels
	build/wheels/bin/python -m pip install --quiet build
	build/wheels/bin/python -m build -C cmake.define.RBOOST_NEEDS_NATIVE=ON
	build/wheels/bin/python -m build --wheel $(PURE)

# What `make wheels` built, in new environments with no compiler.
.PHONY: smoke
smoke:
	$(PYTHON_ABI3) tools/try_wheels.py $(PYTHON_OLDEST) $(PYTHON_ABI3) $(PYTHON_NEWEST)

# The quick tests with the oldest packages that pyproject.toml promises and with the newest. Packages
# of different age warn of each other, which is no fault of this one.
.PHONY: test-versions test-oldest test-newest
PROMISED := tests --ignore=tests/benchmarks -W default
test-versions: test-oldest test-newest

test-oldest:
	rm -rf build/oldest && $(PYTHON_OLDEST) -m venv build/oldest
	$(PYTHON_OLDEST) tools/oldest.py review test > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet -c build/oldest/constraints.txt ".[review,test]"
	$(ONE_THREAD) build/oldest/bin/python $(PYTEST) $(QUICK) $(PROMISED)

test-newest:
	rm -rf build/newest && $(PYTHON_NEWEST) -m venv build/newest
	build/newest/bin/python -m pip install --quiet ".[review,test]"
	$(ONE_THREAD) build/newest/bin/python $(PYTEST) $(QUICK) $(PROMISED)

# Which pages of figures under docs are older than the code that they measure.
.PHONY: figures
figures: $(READY)
	$(BIN)/python -m benchmarks.figures

# The site, in build/site: every warning is an error. It reads and asks nothing from a network.
.PHONY: docs
docs: $(READY)
	rm -rf docs/api/generated
	$(BIN)/python -m sphinx -W --keep-going -n -b html docs build/site

# Skipped with a reason where there is no GPU. Only these tests are read, as a machine with a GPU may
# have neither Hypothesis nor a browser.
.PHONY: test-gpu
test-gpu:
	$(or $(wildcard $(BIN)/python),$(PYTHON)) -m pytest --confcutdir=tests/gpu -W default tests/gpu

# The native code with address and undefined-behaviour sanitizers: its tests, and forged model files.
# The first report ends it. An
# editable install would come before PYTHONPATH, so sitecustomize takes its finder away.
SANITIZE := build/sanitize
FORGED ?= 10000
CXX_LIBRARY = $(shell $(CXX) -print-file-name=$(1))
.PHONY: sanitize
sanitize: $(READY)
	rm -rf $(SANITIZE)/site
	$(BIN)/python -m pip install --quiet --no-deps --target $(SANITIZE)/site \
	  -C build-dir=$(SANITIZE)/cmake -C cmake.define.RBOOST_SANITIZE=ON .
	printf '%s\n' 'import sys' \
	  'sys.meta_path[:] = [f for f in sys.meta_path if not hasattr(f, "known_source_files")]' \
	  > $(SANITIZE)/site/sitecustomize.py
	export PYTHONPATH=$(CURDIR)/$(SANITIZE)/site ASAN_OPTIONS=detect_leaks=0 \
	  UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	  LD_PRELOAD="$(call CXX_LIBRARY,libasan.so) $(call CXX_LIBRARY,libubsan.so)"; \
	$(BIN)/python -c 'from rboost.native import _native; assert "$(SANITIZE)" in _native.__file__' && \
	$(BIN)/python -m pytest --capture=sys -m "not slow" tests/native && \
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.fuzz --only model --cases $(FORGED)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp is written last, so an install that was interrupted is done again. What the demo needs is
# less than what the tests need. Modules are compiled when they are imported: most never are.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --editable
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/native/*)
MADE := .venv/.made

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rboost needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

$(RUN): $(SOURCES) | $(MADE)
	$(INSTALL) ".[review]"
	touch $@

$(READY): $(SOURCES) | $(MADE)
	$(INSTALL) ".[dev]"
	touch $(RUN) $@
