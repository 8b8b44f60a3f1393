# make demo   trains, translates and scores on the embedded corpus, from nothing
# make test   lint, types, import contracts and tests
# make test-all  the same with the tests that are exhaustive, as before a release
# make corpus draws the embedded corpus again, and writes it into the package
# make test-kernels  the tests of models and search again, with the kernels of an older processor
# make test-gpu      what a GPU computes, beside the processor; all other tests leave it alone
# make test-cluster  what starts a Ray: workers that are killed, a machine that is lost; two minutes
# make check  the same without the tests, in seconds
# make demo TORCH=cpu  with PyTorch's build without CUDA, which is smaller; only before the first make
# make demo EXTRAS=all  with all that Dragoman can use; the others install what checks and tests need
# make coverage     how much of training, search, data, text and models their tests run, against floors
# make test-other-rooms  the tests that make coverage leaves out; make test COVERAGE=yes runs both, as CI
# make mutants       changes the code in 300 places, one by one, and lists what no test notices
# make soak   kills, power losses, hostile input and overload for HOURS=2 hours, with a report in runs/soak
# make dist   builds what is published (Dragoman, and its client alone), checks it, installs it elsewhere by digests and uses it; with a
#             list of all packages with their digests, and a bill of materials
# make site   the pages of docs/ as a site in build/site, for a browser; it stops at a link to nowhere
# make site-version  puts that site into the branch gh-pages (SITE_BRANCH), in a folder of its version; sends nothing
# make bench  speed beside other toolkits, in an environment of their own; two hours
# make results-TOPIC  tables of docs/results: trains, translates and scores what is missing, row by
#             row; MINUTES=60 stops each table after an hour, and the next call goes on; JOBS=8 makes
#             eight at once, on many cores or a GPU.  Topics:
#             multilingual, and all folders of recipes that have a table.yaml.  multilingual also
#             counts forms of address, and monolingual times students, once their rows are made

PYTHON ?= python3
VENV := .venv
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
PEERS := benchmarks/peers
# Wheels only, since a source distribution may run anything.  Nothing is compiled before it is
# imported: of 24,000 modules, most never are.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile --only-binary :all: --constraint $(CONSTRAINTS)
# A build of PyTorch's own index, such as cpu or cu126; from the usual index if empty.  What it needs
# besides comes from there in any case.
TORCH :=
TORCH_FROM := $(if $(TORCH),--no-deps --index-url https://download.pytorch.org/whl/$(TORCH))
# What make demo installs besides what every installation has; names of extras in pyproject.toml.
EXTRAS := plots,server,documents,ctranslate2
# Where people can read the files of this release, such as https://HOST/OWNER/dragoman/blob/v1.0.0:
# what the links of README.md then lead to.
PAGES :=
# Where make site-version commits the site with its versions.
SITE_BRANCH := gh-pages
ROUNDS := 2
SAMPLE := 300
SEED := 1
# How many mutants are tried at once, or rows made; the programs' own number if empty.
JOBS :=
# How long to work on a table of results; until it is complete if empty.
MINUTES :=
HOURS := 2

# The extras that dist/requirements.lock covers: those of the image, and pictures.
LOCKED := server postgresql ctranslate2 documents moses plots

# The rooms that tests/coverage_gate.py has floors for.
COVERED := data models search text training

# Three workers, whatever the cores: some tests wait, for the disk, a server or a browser.
TESTS := $(BIN)/pytest -n 3 --dist loadfile
# Whether make test measures coverage, too: slower, and in two runs that share the tests.
COVERAGE :=
# Without what tries every combination: for make test-all.
USUAL := -m "not exhaustive"

# What PyTorch, oneDNN and MKL may use at most; processors without them take no notice.
KERNELS := ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2

# What is compiled once is kept, whatever the environment says: hundreds of modules, many processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all test-at-once test-other-rooms corpus test-kernels test-gpu test-cluster check coverage mutants soak dist site site-version bench format clean

demo: $(VENV)/installed
	$(BIN)/dragoman demo

test: check $(if $(COVERAGE),coverage test-other-rooms,test-at-once)

test-at-once: $(VENV)/compiled
	$(TESTS) $(USUAL)

test-all: check $(VENV)/compiled
	$(TESTS)

corpus: $(VENV)/development
	$(BIN)/python -m studies.synthetic pack

test-kernels: $(VENV)/development
	$(KERNELS) $(TESTS) tests/models tests/search tests/training tests/techniques tests/cli tests/server tests/client tests/workflows tests/test_*.py

check: $(VENV)/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-gpu: $(VENV)/development
	DRAGOMAN_TEST_GPU=1 $(BIN)/pytest tests/core/test_gpu.py

test-cluster: $(VENV)/development
	DRAGOMAN_TEST_CLUSTER=1 $(BIN)/pytest tests/workflows/test_two_machines.py tests/workflows/test_cluster.py tests/workflows/test_ray_token.py

coverage: $(VENV)/compiled
	mkdir -p build
	$(TESTS) $(USUAL) --cov --cov-report json:build/coverage.json $(COVERED:%=tests/%)
	$(BIN)/python tests/coverage_gate.py build/coverage.json

test-other-rooms: $(VENV)/compiled | $(if $(COVERAGE),coverage)
	$(TESTS) $(USUAL) $(COVERED:%=--ignore tests/%)

mutants: $(VENV)/mutants
	nice $(BIN)/python tests/mutants.py --sample $(SAMPLE) --seed $(SEED) $(JOBS:%=--jobs %)

bench: $(VENV)/development $(PEERS)/installed
	$(BIN)/python benchmarks/bench.py training --rounds $(ROUNDS)
	$(BIN)/python benchmarks/bench.py decoding --rounds $(ROUNDS)
	$(BIN)/python benchmarks/bench.py families
	$(BIN)/python benchmarks/bench.py growth
	$(BIN)/python benchmarks/bench.py length
	$(BIN)/python benchmarks/bench.py data
	$(BIN)/python benchmarks/bench.py curve

# A topic is a folder of recipes, or several: where one fails, as without text that cannot be
# downloaded, the others are made, and the end is an error; codes above 128 are of Ctrl-C and signals.
results-multilingual: TABLES := multilingual domains homeassistant
# What a topic measures once its runs are there.
results-multilingual: THEN = $(COUNT_FORMS)
results-monolingual: THEN = $(TIME_STUDENTS)
results-%: $(VENV)/development
	failed=0; for table in $(or $(TABLES),$*); do \
		$(BIN)/python -m studies.tables recipes/$$table/table.yaml --output runs/$$table \
			$(MINUTES:%=--minutes %) $(JOBS:%=--jobs %) || { failed=$$?; test $$failed -lt 129 || exit $$failed; }; done; \
	$(if $(THEN),$(THEN) || failed=$$?;) exit $$failed

# The lines of a product's catalogues that keep their placeholders, tags, addresses and numbers.
results-product: THEN = $(BIN)/python -m studies.product strings runs/product/text/strings.source \
	runs/product/translations/*.strings --output runs/product/strings.json

# How German addresses its reader where another domain was asked for.
ASKED := runs/domains/translations
COUNT_FORMS = for test in homeassistant libreoffice wesnoth; do \
		test ! -f $(ASKED)/as-dialogue.$$test || $(BIN)/python -m studies.address \
			$(ASKED)/as-ui.$$test $(ASKED)/as-office.$$test $(ASKED)/as-dialogue.$$test || exit; done

# Students beside their teacher, some ten minutes; the file in the end says that it was done.
STUDIED := runs/monolingual
TIME_STUDENTS = for run in teacher student student-plain; do \
		test -f $(STUDIED)/$$run/scores.json || exit $$failed; done; \
	test -f $(STUDIED)/speed.json || $(BIN)/python benchmarks/student.py \
		--teacher $(STUDIED)/teacher --student $(STUDIED)/student --student $(STUDIED)/student-plain \
		--source $(STUDIED)/text/test2016.source --reference $(STUDIED)/text/test2016.reference \
		--json $(STUDIED)/speed.json

# No table of scores: how far the confidence of one model can be believed, on three texts.
results-confidence: RUN := runs/multilingual/de-en
results-confidence: CALIBRATE = $(BIN)/dragoman calibrate $(RUN)
results-confidence: $(VENV)/development
	test -f $(RUN)/scores.json || $(BIN)/dragoman train recipes/multilingual/de-en.yaml --run $(RUN)
	set -e; text=$$($(BIN)/dragoman corpora where multi30k); \
	$(CALIBRATE) $$text/val.de.gz $$text/val.en.gz; \
	for year in 2016 2017; do \
		test=$$text/test_$${year}_flickr; \
		$(CALIBRATE) $$test.de.gz $$test.en.gz --check --picture runs/confidence/$$year.svg; done; \
	strings=$$($(BIN)/dragoman corpora where homeassistant)/test.tsv.gz; \
	for column in 2.en 3.de; do \
		zcat $$strings | tail -n +2 | cut -f $${column%.*} > runs/confidence/strings.$${column#*.}; done; \
	$(CALIBRATE) runs/confidence/strings.de runs/confidence/strings.en --check

soak: $(VENV)/soak
	$(BIN)/python -m soak --hours $(HOURS)

# Its environment is a new one outside of the working tree, where nothing but the wheel is found.
dist: $(VENV)/dist
	rm -rf dist
	new=$$(mktemp -d) && trap 'rm -rf "$$new"' EXIT && \
	$(BIN)/python tests/distribution.py export "$$new/source" $(if $(PAGES),--pages $(PAGES)) && \
	{ for folder in "$$new/source" "$$new/source/client"; do \
		$(BIN)/python -m build --no-isolation --outdir dist "$$folder" > "$$new/log" 2>&1 || \
		{ cat "$$new/log"; exit 1; }; done; } && \
	$(BIN)/twine check --strict dist/* && \
	$(BIN)/python tests/distribution.py check dist && \
	$(BIN)/python -m soak.locking dist/requirements.lock $(LOCKED:%=--extra %) && \
	$(PYTHON) -m venv "$$new/venv" && \
	"$$new/venv/bin/python" $(PIP) --require-hashes --no-deps --requirement dist/requirements.lock && \
	"$$new/venv/bin/python" $(PIP) --no-deps dist/*.whl && \
	$(BIN)/cyclonedx-py environment --validate --output-file dist/bill-of-materials.json \
		"$$new/venv" && \
	$(BIN)/python tests/distribution.py use "$$new/venv"

site: $(VENV)/development
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict

site-version: site
	$(BIN)/python -m website.publish build/site $(SITE_BRANCH)

format: $(VENV)/development
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/installed: pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) setuptools wheel
	$(BIN)/python $(PIP) $(TORCH_FROM) torch
	$(BIN)/python $(PIP) --no-build-isolation --editable '.[$(EXTRAS)]'
	touch $@

# Of docopt, which num2words needs, there is no wheel.
$(VENV)/development: $(VENV)/installed
	$(BIN)/python $(PIP) --no-binary docopt --no-build-isolation --editable '.[dev]'
	touch $@

# What tests import, compiled once, while the checks run: three workers would compile it three times.
$(VENV)/compiled: $(VENV)/development
	-$(BIN)/pytest --collect-only > /dev/null
	touch $@

$(VENV)/mutants: $(VENV)/development
	$(BIN)/python $(PIP) --no-binary yattag --no-build-isolation --editable '.[dev,mutants]'
	touch $@

$(VENV)/soak: $(VENV)/development
	$(BIN)/python $(PIP) --no-build-isolation --editable '.[dev,soak]'
	touch $@

$(VENV)/dist: $(VENV)/development
	$(BIN)/python $(PIP) --no-build-isolation --editable '.[dev,dist]'
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
