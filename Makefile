# make demo        run the main job on the bundled pages and show the result
# make test        lint, types, layers and all tests
# make test-quick  the tests that need no browser, Spark, PostgreSQL, service or labelled set
# make lint        only the static checks
# make wheel       build a wheel with kernels compiled for this platform, into dist/
# make kernels     compile the kernels, as far as they have changed
# make docs        build the documentation as a site, into site/
# make trace       the source files and functions that a run on the bundled pages goes through
# make bench       ratios against other libraries, measured in one run
# make results     measure every method on the labelled sets, into docs/methods/results.md; ONLY=own-text: one
# make comparison  compare all methods on the labelled sets in one page, docs/methods/comparison.html
# make torture     mutated files, kills, full disks, hostile inputs, overload at full size (docs/reliability.md)
# make lock        renew the lock files, with hashes, from pyproject.toml
# make audit       look up known vulnerabilities of what is locked (needs pypi.org)

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
READY := $(VENV)/.ready
WHEEL_KERNELS := build/kernels
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --generate-hashes

.PHONY: demo test test-quick lint wheel kernels docs trace bench results comparison torture lock audit venv browser java clean

demo: $(CORE)
	$(BIN)/neardup demo

test: lint browser java kernels
	$(BIN)/pytest -n 2 --dist loadgroup --durations=25

test-quick: kernels
	$(BIN)/pytest -n 2 --dist loadgroup -m "not slow"

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Before the test workers start: each would compile the same kernels, and wait for the other.
kernels: venv
	@$(BIN)/neardup warm-up

# For the oldest supported processor, not the builder's own (src/neardup/kernels/compiled.py).
wheel: $(CORE)
	NUMBA_CACHE_DIR=$(WHEEL_KERNELS) $(BIN)/neardup warm-up --portable
	NEARDUP_KERNELS=$(WHEEL_KERNELS) $(BIN)/python -m hatchling build -t wheel

docs: venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html; with search: $(BIN)/python -m http.server -d site"

trace: venv
	$(BIN)/python tools/trace_run.py

bench: venv
	$(PIP) --require-hashes -r requirements-bench.lock
	$(BIN)/python -m bench

results: venv
	$(BIN)/python -m bench.results $(if $(ONLY),--only $(ONLY))

comparison: kernels
	$(BIN)/python -m bench.comparison

torture: kernels
	NEARDUP_TORTURE=1 $(BIN)/pytest --durations=25 tests/kernels/test_linear_time.py tests/pages/test_hostile_inputs.py tests/pages/test_readers_fuzz.py \
	  tests/local/test_work.py tests/contract/test_resume.py tests/contract/test_index_crashes.py \
	  tests/index/test_cutting_into_batches.py tests/service/test_service_load.py tests/service/test_service_overload.py

venv: $(READY)

# What neardup itself needs: enough for the demo and the wheel. The interpreter compiles what it
# imports, so pip need not compile everything.
$(CORE): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $(CORE)

# And what the tests need.
$(READY): $(CORE) requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock
	touch $(READY)

# The report is tested in a real browser: Debian's Chromium, installed where that is allowed.
browser:
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing chromium for the browser tests"; \
	    apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
	  else \
	    echo "chromium is missing: the browser tests are skipped. Install it with: sudo apt-get install chromium"; \
	  fi; }

# The Spark engine is tested on a real cluster: Debian's Java, installed where that is allowed.
java:
	@command -v java >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing Java for the Spark tests"; \
	    apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; \
	  else \
	    echo "Java is missing: the Spark tests are skipped. Install it with: sudo apt-get install openjdk-17-jre-headless"; \
	  fi; }

lock: venv
	$(COMPILE) --group build --output-file requirements.lock pyproject.toml
	$(COMPILE) --constraint requirements.lock --extra datatrove --extra evaluate --extra postgres --extra scrapy --extra service --extra spark --group dev --output-file requirements-dev.lock pyproject.toml
	$(COMPILE) --group bench --output-file requirements-bench.lock pyproject.toml
	$(COMPILE) --extra postgres --extra service --group build --output-file requirements-service.lock pyproject.toml

audit: venv
	for lock in requirements.lock requirements-dev.lock requirements-bench.lock requirements-service.lock; do \
	  $(BIN)/uv tool run pip-audit --disable-pip --require-hashes -r $$lock || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
