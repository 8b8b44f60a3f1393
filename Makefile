# make demo   trains, translates and scores on the embedded corpus, from nothing
# make test   lint, types, import contracts and tests, as CI runs them
# make test-kernels  the tests of models and search again, with the kernels of an older processor
# make check  the same without the tests, in seconds
# make mutants       changes the code in 300 places, one by one, and lists what no test notices
# make bench  speed beside other toolkits, in an environment of their own; two hours

PYTHON ?= python3
VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
PEERS := benchmarks/peers
ROUNDS := 2
SAMPLE := 300
SEED := 1
JOBS := 2

# What PyTorch, oneDNN and MKL may use at most; processors without them take no notice.
KERNELS := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2

.PHONY: demo test test-kernels check mutants bench format clean

demo: $(VENV)/installed
	$(BIN)/dragoman demo

test: check
	$(BIN)/pytest -n 2 --dist loadfile

test-kernels: $(VENV)/installed
	$(KERNELS) $(BIN)/pytest -n 2 --dist loadfile tests/models tests/search tests/training tests/apps tests/test_*.py

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

mutants: $(VENV)/mutants
	nice $(BIN)/python tests/mutants.py --sample $(SAMPLE) --seed $(SEED) --jobs $(JOBS)

bench: $(VENV)/installed $(PEERS)/installed
	$(BIN)/python benchmarks/bench.py training --rounds $(ROUNDS)
	$(BIN)/python benchmarks/bench.py decoding --rounds $(ROUNDS)
	$(BIN)/python benchmarks/bench.py families
	$(BIN)/python benchmarks/bench.py growth
	$(BIN)/python benchmarks/bench.py data
	$(BIN)/python benchmarks/bench.py curve

format: $(VENV)/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary docopt \
		--constraint $(CONSTRAINTS) setuptools wheel torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-binary docopt \
		--constraint $(CONSTRAINTS) --no-build-isolation --editable '.[dev]'
	touch $@

$(VENV)/mutants: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		--no-binary docopt,yattag --constraint $(CONSTRAINTS) --no-build-isolation \
		--editable '.[dev,mutants]'
	touch $@

$(PEERS)/installed: benchmarks/requirements.txt benchmarks/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check --constraint $(CONSTRAINTS) torch
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements.txt
	$(PEERS)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--requirement benchmarks/peers.txt
	touch $@

clean:
	rm -rf $(VENV) demo build dist
