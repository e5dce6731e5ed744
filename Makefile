# Each target sets up .venv by itself when it is missing or older than what it is made from.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/ready

# Where it is set, every process of the suite would compile torch anew: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

DOCS_READY := .venv/docs-ready

.PHONY: demo test check bench docs figures fuzz fuzz-nightly faults clean

demo: $(READY)
	$(BIN)/twofold demo

test: $(READY)
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks

# The site, in docs/_build/html; a warning is an error. Nothing is fetched but the tools.
docs: $(DOCS_READY)
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The pictures of the site again, from real runs and from records: two minutes.
figures: $(READY)
	$(BIN)/python docs/figures

FUZZ_COUNT ?= 200000
FUZZ_SECONDS ?= 300

# Mutated files for every reader, on all cores; `make test` reads some seconds of them.
fuzz: $(READY)
	$(BIN)/python tests/hostile/fuzz.py --count $(FUZZ_COUNT)

# Other files every night.
fuzz-nightly: $(READY)
	$(BIN)/python tests/hostile/fuzz.py --seconds $(FUZZ_SECONDS) --seed $$(date +%s)

# Kills at every call that writes, full and read-only disks, and kills of `twofold ask`: twenty
# minutes; disks need root.
faults: $(READY)
	$(BIN)/python tests/hostile/faults.py
	$(BIN)/python tests/ask/kills.py

clean:
	rm -rf .venv docs/_build docs/gallery docs/reference/generated

# What is imported is compiled then; the rest, most of it, never. The pip that comes with Python 3.11
# reads the index at twice the price.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[docs]'
	touch $(DOCS_READY)
