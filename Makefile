# `make` without a target lists the targets.
VENV ?= .venv-test
BIN := $(VENV)/bin

.PHONY: help install test unit dates scenario lint types style trace format bench soak docs real-client ci clean
.DEFAULT_GOAL := help

help: ## List the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1: \2/p' Makefile

$(BIN)/pytest: pyproject.toml
	python3 -m venv $(VENV)
	$(BIN)/pip install -q -e '.[dev]'
	@touch $@

install: $(BIN)/pytest ## Make the virtual environment for development.

test: install ## Run all tests except those with the real client.
	$(BIN)/pytest -n 4 --dist worksteal

unit: install ## Run the fast tests: no waiting, no processes but those of git.
	$(BIN)/pytest -n 2 -m "not scenario" tests/daemon tests/handlers tests/stories tests/test_house.py tests/test_imports.py tests/test_docs.py

# The examples of properties are few, because the other run has tried them; the date must not matter to any of them.
DAYS ?= 400
dates: install ## Run the fast tests with the clock 400 days ahead; DAYS=-400: back.
	TACITD_EXAMPLES=0.01 $(BIN)/pytest -q -n 2 tests/daemon tests/handlers tests/stories --ignore=tests/daemon/text -m "not undated" --days-ahead=$(DAYS)

scenario: install ## Run the tests with real processes and files and the stand-in for Claude Code.
	$(BIN)/pytest -n 4 --dist worksteal -m scenario tests

lint: install ## Check with ruff, changing nothing.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install ## Run mypy --strict and pyright.
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" PYRIGHT_PYTHON_IGNORE_WARNINGS=1 pyright

style: ## Print the size of each folder beside its budget, and names that occur twice.
	python3 scripts/print_style.py

trace: install ## Print how many modules and functions one prompt passes.
	$(BIN)/python scripts/trace_prompt.py

format: install ## Fix and format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Not that of what is learned; docs/performance.md has its commands. All are run, also after one that misses what is asked.
BENCHMARKS := "memory.py --size 300MB" catch_up.py latency.py commands.py hooks.py "year.py --days 36 --idle 30 --more 0"
bench: install ## Run the benchmarks of docs/performance.md in less than ten minutes: memory, catching up, from an append to the handler, commands, hooks, a tenth of a year.
	@missed=0; for one in $(BENCHMARKS); do echo "benchmarks/$$one"; $(BIN)/python benchmarks/$$one || missed=1; done; exit $$missed

soak: install ## Run each row of docs/reliability.md in full: hours. Rows that have a result are not run again.
	$(BIN)/python scripts/soak.py

docs: install ## Regenerate the generated pages, and the plugin's commands.
	$(BIN)/python docs/generate.py

real-client: install ## Run the tests with the real Claude Code from npm, against a stand-in API.
	$(BIN)/pytest -m real_client

ci: ## Run what CI runs.
	.ci/run

clean: ## Remove caches, builds and the virtual environment.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
