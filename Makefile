# make demo   run the main job on the bundled pages and show the result
# make test   lint, types, layers and all tests
# make lint   only the static checks
# make bench  ratios against other libraries, measured in one run
# make lock   renew requirements.lock from pyproject.toml

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench lock venv clean

demo: venv
	$(BIN)/neardup demo

test: lint
	$(BIN)/pytest -n auto

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: venv
	$(BIN)/python -m bench

venv: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

lock: venv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group dev --no-annotate --no-header --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
