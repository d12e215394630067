# Works with Python 3.11 or newer and make alone; `make` names the targets.

PORT ?= 8000
export PORT
VENV ?= .venv
PACKAGES_VENV ?= .venv-packages
PYTEST_ARGS ?=
# Such as --minutes 10, --again, or --only "*.lifecycle.*".
MUTANTS_ARGS ?=
# Such as --only OPS-6-45, --again, or --who claims.
RULES_ARGS ?=
# Such as --database sqlite, --rounds 20, or --only memory.
BENCH_ARGS ?=
# The first interpreter that is new enough and can make virtual environments.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	"$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && { echo "$$candidate"; break; }; done)

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal
# Tests that need no server, browser or other package, and not the machine for themselves.
ALONE := not servers and not crash and not races and not browser and not packages

.DEFAULT_GOAL := help
.PHONY: help demo test slow quick check lint format types imports migrations conformance clean docs \
	conformance-check mutants rules bench bench-growth packages

help: ## name the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 26

demo: $(VENV)/.demo ## serve the demo shop on 127.0.0.1, PORT=8000
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py demo_seed
	@exec $(BIN)/python manage.py demo_serve

test: $(VENV)/.test ## run the tests, but for the slow ones and those that need more than Python
	$(PYTEST) -m "not slow and $(ALONE)" $(PYTEST_ARGS)

slow: $(VENV)/.test ## run the tests that are too slow for `make test`
	$(PYTEST) -m "slow and $(ALONE)" $(PYTEST_ARGS)

quick: $(VENV)/.test ## run the tests of the protocol, the gate and the lifecycle, in half a minute
	$(PYTEST) -m "not slow and $(ALONE)" tests/protocol tests/gate tests/lifecycle $(PYTEST_ARGS)

packages: ## run the tests with other packages, in an environment of their own
	@$(MAKE) --no-print-directory VENV=$(PACKAGES_VENV) $(PACKAGES_VENV)/.packages
	POPPY_REQUIRE=1 $(PACKAGES_VENV)/bin/python -m pytest -n 2 -m packages tests/packages tests/mcp/test_fastmcp.py $(PYTEST_ARGS)

check: lint types imports migrations conformance-check ## everything that is not a test

lint: $(VENV)/.lint ## look at style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.lint ## mend style and format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/.lint ## check the types
	$(BIN)/mypy

imports: $(VENV)/.lint ## check that imports go down the layers
	$(BIN)/lint-imports

migrations: $(VENV)/.test ## check that no migration is missing
	$(BIN)/python -m django makemigrations --check --dry-run --settings tests.settings poppy_operations
	$(BIN)/python manage.py makemigrations --check --dry-run

messages: $(VENV)/.test ## bring the translations up to date and compile them (needs gettext)
	cd poppy_operations && ../$(BIN)/python -m django makemessages \
		--all --add-location file --no-obsolete
	cd poppy_operations && ../$(BIN)/python -m django compilemessages

screenshots: $(VENV)/.test ## take the documentation's pictures (needs Chromium and npm)
	$(PIP) install --group browser
	POPPY_SCREENSHOTS=1 $(BIN)/python -m pytest tests/browser_story

conformance: $(VENV)/.test ## bring the list of what is shown up to date, and its page
	$(BIN)/python -m tests.conformance

conformance-check: $(VENV)/.test ## check that list and page are up to date
	$(BIN)/python -m tests.conformance --check

docs: $(VENV)/.docs ## build the documentation into docs/_build
	$(BIN)/python -m sphinx -E -n -W --keep-going -q -b html docs docs/_build

mutants: $(VENV)/.mutants ## change the gate and the lifecycle, and see whether tests notice
	nice -n 19 $(BIN)/python -m tests.mutation $(MUTANTS_ARGS)

rules: $(VENV)/.test ## break one rule at a time, and see whether the tests that claim it notice
	nice -n 19 $(BIN)/python -m tests.mutation.rules $(RULES_ARGS)

bench: $(VENV)/.bench ## measure what operations cost, on PostgreSQL and SQLite (needs PostgreSQL)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-growth: $(VENV)/.bench ## measure among a million operations, for up to 20 minutes
	$(BIN)/python -m benchmarks.growth $(BENCH_ARGS)

clean: ## remove what the targets made, the demo's data included
	rm -rf $(VENV) $(PACKAGES_VENV) var build dist docs/_build .coverage* .mypy_cache .pytest_cache .ruff_cache \
		.hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { \
		echo "No Python 3.11 or newer that can make virtual environments was found."; \
		echo "Install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# Dependency groups need pip 25.1.
$(VENV)/.pip: | $(BIN)/python
	$(PIP) install 'pip>=25.1'
	@touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.pip
	$(PIP) install --editable '.[demo]'
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.pip
	$(PIP) install --editable '.[demo]' --group test
	@touch $@

$(VENV)/.packages: pyproject.toml $(VENV)/.test
	$(PIP) install --group packages
	@touch $@

$(VENV)/.lint: pyproject.toml $(VENV)/.test
	$(PIP) install --group lint
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.pip
	$(PIP) install --group docs
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.test
	$(PIP) install --editable '.[postgres]' --group bench
	@touch $@

$(VENV)/.mutants: pyproject.toml $(VENV)/.test
	$(PIP) install --group mutants
	@touch $@
