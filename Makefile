# make demo     run the main job on the bundled pages and show the result
# make test     lint, types, layers and all tests
# make lint     only the static checks
# make bench    ratios against other libraries, measured in one run
# make results  measure every method on the labelled sets, into docs/methods/results.md
# make lock     renew the lock files from pyproject.toml

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header

.PHONY: demo test lint bench results lock venv browser java clean

demo: venv
	$(BIN)/neardup demo

test: lint browser java
	$(BIN)/pytest -n 2 --dist loadgroup

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: venv
	$(PIP) -r requirements-bench.lock
	$(BIN)/python -m bench

results: venv
	$(BIN)/python -m bench.results

venv: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
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
	$(COMPILE) --extra evaluate --extra postgres --extra scrapy --extra service --extra spark --group dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --group bench --output-file requirements-bench.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
