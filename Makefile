# Everything is set up by the targets themselves: a bare Python 3.11 or newer is enough.
# `make help` lists them.

PYTHON ?= $(shell for v in python3.11 python3.12 python3.13 python3 python; do \
	$$v -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$v; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?= ../shared/data

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check format bench lock all clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python"; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version) (about 20 s to 2 min, once)"
	@$(PYTHON) -m venv $(VENV)
	@awk '/^uv==/{p=1} p{print} p&&!/\\$$/{exit}' requirements.lock > $(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt 2>/dev/null \
	  && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements.lock \
	  || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(READY)

demo: $(READY)  ## run the main job end to end: no key, no network
	@$(BIN)/agentkit demo

test: $(READY)  ## run the tests
	@$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-all: $(READY) check  ## lint, types, and the slow tests and optional back ends
	@$(BIN)/python -m pytest -q -m slow

check: $(READY)  ## format check, lint and strict types
	@$(BIN)/ruff format --check agentkit tools tests
	@$(BIN)/ruff check agentkit tools tests
	@$(BIN)/basedpyright

format: $(READY)  ## format and fix what can be fixed
	@$(BIN)/ruff check --fix-only --quiet agentkit tools tests
	@$(BIN)/ruff format agentkit tools tests

bench: $(READY)  ## speed and quality figures, written to evals/baselines (DATA=folder of data sets)
	@$(BIN)/python -m tests.bench --data $(DATA)

lock: $(READY)  ## renew requirements.lock from pyproject.toml
	@$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --quiet -o requirements.lock

all: check test test-all demo  ## everything that a release needs

clean:  ## remove the virtual environment and caches
	@rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist build
