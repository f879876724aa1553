# Tunbridge. Every target makes .venv and installs what it needs by itself; nothing has to be activated.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help install run test lint types imports mistakes bench docs house fuzz exactness faults format clean
MINUTES ?= 5
NETWORKS ?= 1000

help:  ## Show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

install: $(VENV)/.warm  ## Make .venv with the package and what its tests need, its kernels compiled

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Tunbridge needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.warm: $(VENV)/.test $(wildcard src/tunbridge/kernels/*.py src/tunbridge/kernels/*/*.py)
	@echo "Compiling kernels for this machine, about 45 seconds on two cores."
	@$(BIN)/tunbridge warmup
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

run: install  ## A classifier and a network: learned, asked, explained and saved
	$(BIN)/python examples/first_steps.py

test: lint types imports  ## Lint, types, import contracts, all tests
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.test  ## Check style (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test  ## Check types (mypy)
	$(BIN)/mypy

imports: $(VENV)/.test  ## Check that every room imports only from rooms above it
	$(BIN)/lint-imports --no-cache

mistakes: $(VENV)/.warm  ## Write what mistakes get as an answer into tests/docs/mistakes.md
	-$(BIN)/python tests/page_runner.py --write tests/docs/mistakes.md

bench: $(VENV)/.bench  ## Measure against other libraries and rewrite benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs  ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

house: $(VENV)/.test  ## Print the size of the house: lines, files, repeats, room changes
	$(BIN)/python tools/house.py --rooms

fuzz: $(VENV)/.warm  ## Give mutated files and arguments to every reader (MINUTES=5)
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]' || echo "Without atheris: inputs are mutated, not guided by coverage."
	$(BIN)/python -m tools.fuzz --minutes $(MINUTES) --keep

exactness: $(VENV)/.warm  ## Compare random networks, probabilities down to 1e-300, with enumeration (NETWORKS=1000)
	$(BIN)/python -m tools.exactness --networks $(NETWORKS)

faults: $(VENV)/.warm  ## Kill, interrupt and starve every command, and see what is left
	$(BIN)/python -m tools.faults

format: $(VENV)/.test  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove everything that was made
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
