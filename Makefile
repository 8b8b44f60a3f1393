# make demo   trains, translates and scores on the embedded corpus, from nothing
# make test   lint, types, import contracts and tests, as CI runs them
# make check  the same without the tests, in seconds

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check format clean

demo: $(VENV)/installed
	$(BIN)/dragoman demo

test: check
	$(BIN)/pytest -n 2

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary docopt \
		--constraint constraints.txt setuptools wheel torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary docopt \
		--constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo build dist
