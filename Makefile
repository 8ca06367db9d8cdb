# Everything runs in .venv, which the first command makes and later ones find ready.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready

.PHONY: help install demo test lint format types check docs bench clean

help: ## show these commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(READY) ## make .venv and install everything pinned

# torch stands in the same command as the rest: alone, a dependency could pull another build of it.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch -e '.[dev]'
	@touch $@

demo: $(READY) ## fit moons, circles and digits, and write demo/report.html
	$(BIN)/scnf demo --out demo

test: $(READY) ## run the tests
	$(BIN)/python -m pytest -n 2

lint: $(READY) ## look for mistakes
	$(BIN)/ruff check .

format: $(READY) ## check the layout of the code (FIX=1 mends it)
	$(BIN)/ruff format $(if $(FIX),,--check) .

types: $(READY) ## check the types
	$(BIN)/mypy

check: lint format types test ## all of the above

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch -e '.[docs]'
	@touch $@

# The theme's note on its end of life is none of a reader's business; the pins keep what is tested.
docs: $(DOCS_READY) ## run the examples of the documentation and build it into site/; a broken link is an error
	$(BIN)/pytest -q tests/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'Open site/index.html.'

bench: $(READY) ## measure the training loop, for results/bench
	$(BIN)/scnf bench overhead --out results/bench

clean: ## remove .venv and what tools leave behind
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis demo site build dist
