# Everything here sets up what it needs by itself: python3 (3.11 or newer), make
# and a Python package index are enough.  `make` alone lists the targets.
#
#   PYTHON=python3.12 make test    another interpreter
#   VENV=/some/folder make test    another virtual environment
#   EDITABLE= make test            test the built package instead of the tree
#   ARGS="-k pointer" make test    more arguments for pytest

PYTHON ?= python3
VENV ?= .venv
EDITABLE ?= -e
ARGS ?=

BIN := $(abspath $(VENV))/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
METADATA := pyproject.toml src/signoff/_version.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-all bench docs lint clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' Makefile | while IFS='	' read -r name text; do \
		printf 'make %-10s %s\n' "$$name" "$$text"; done

demo: $(RUNTIME) ## lock a contract, verify good and bad outputs, show the gate; code, an image, a service
	@PATH="$(BIN):$$PATH" demo/run.sh

test: $(DEV) ## the tests, save the long ones
	@$(BIN)/python -m pytest -n auto --dist worksteal -m 'not long' $(ARGS)

test-all: $(DEV) ## all tests, with branch coverage
	@$(BIN)/python -m pytest -n auto --dist worksteal --cov $(ARGS)

bench: $(DEV) ## time signoff against its peers, in the same run
	@$(BIN)/python benchmarks/run.py $(ARGS)

docs: $(DEV) ## write the generated documents and schemas anew
	@$(BIN)/python -m tools.generate $(ARGS)

lint: $(DEV) ## ruff and mypy; nothing is changed
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

clean: ## remove .venv, caches and reports
	@rm -rf .venv .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist htmlcov
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): $(METADATA) tools/setup-venv
	@tools/setup-venv '$(PYTHON)' '$(VENV)' $(EDITABLE) '.[geo,http,image,service]' 'pytest>=8.3'
	@touch $@

# what the tests need includes what the demo needs
$(DEV): $(METADATA) tools/setup-venv
	@tools/setup-venv '$(PYTHON)' '$(VENV)' $(EDITABLE) '.[dev]'
	@touch $(RUNTIME) $@
