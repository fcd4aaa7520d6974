# `make demo` and `make test` do everything on a fresh machine with Python 3.11+, make and a C compiler.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
STAMP  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
# What the compiled module is made of; tests run it with checks of every index, benchmarks without.
NATIVE  := setup.py src/cuecard/stats/_native.pyx $(wildcard src/cuecard/stats/native/*.pxi)
CHECKED := $(VENV)/.checked
FAST    := $(VENV)/.fast
BUILD   := $(BIN)/python setup.py -q build_ext --inplace --force

.PHONY: demo serve test lint types imports pytest test-all test-minimum test-core docs-core package pythons runners release licences bench calibration fuzz reproduce reproduce-fast docs clean

demo: $(STAMP)
	$(BIN)/cuecard demo --out out/demo

serve: demo
	$(PIP) install -q -c constraints.txt -e ".[english,serve]"
	$(BIN)/cuecard serve --root out/demo

test: lint types imports docs pytest

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

imports: $(DEV)
	$(BIN)/lint-imports

pytest: $(CHECKED)
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-all: $(CHECKED)
	$(BIN)/python -m pytest -q

test-minimum: $(DEV) # the lowest versions that pyproject.toml allows
	$(BIN)/python scripts/try_install.py minimum

test-core: $(DEV) # without extras
	$(BIN)/python scripts/try_install.py core

docs-core: $(DEV) # commands and Python of the docs, without extras
	$(BIN)/python scripts/try_install.py core tests/docs

package: $(DEV) # wheel and sdist, reproducible, tried in empty environments
	$(PIP) install -q -c constraints.txt --group release
	$(BIN)/python scripts/release.py

pythons: $(DEV) # wheel, demo and core tests with each Python of PYTHONS
	PYTHONS="$(PYTHONS)" $(BIN)/python scripts/try_install.py pythons

runners: $(DEV) # the demo by uvx and by pipx, from this checkout
	$(BIN)/python scripts/try_install.py runners

release: $(DEV) # the same with every Python of PYTHONS and with every extra
	$(PIP) install -q -c constraints.txt --group release
	$(BIN)/python scripts/release.py --pythons "$(PYTHONS)" --extras all

licences: $(DEV)
	$(BIN)/python scripts/list_licences.py

bench: $(FAST)
	$(BIN)/python -m benchmarks short
	$(BIN)/python -m benchmarks
	$(BIN)/python scripts/write_performance.py

calibration: $(DEV)
	$(BIN)/python -m benchmarks.calibration

fuzz: $(DEV)
	$(BIN)/python scripts/fuzz.py
	$(BIN)/python scripts/fuzz_commands.py
	$(BIN)/python scripts/fuzz_figures.py --large

reproduce-fast: $(DEV) # DATA=folder of datasets
	$(BIN)/python -m cuecard papers reproduce all --data $(DATA) --out out/papers --page out/papers.html
	$(BIN)/python -m cuecard papers reproduce all --data $(DATA) --out out/papers --page out/papers.json --quiet

reproduce: $(DEV)
	$(BIN)/python -m cuecard papers reproduce all --data $(DATA) --out out/papers --slow --page out/papers.html
	$(BIN)/python -m cuecard papers reproduce all --data $(DATA) --out out/papers --page out/papers.json --quiet

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "CueCard needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -q --upgrade pip

$(STAMP): pyproject.toml constraints.txt $(NATIVE) | $(BIN)/python
	$(PIP) install -q -c constraints.txt -e ".[english]"
	touch $@

$(DEV): $(STAMP)
	$(PIP) install -q -c constraints.txt -e ".[english,nltk,spelling,zh,llm,models,minilm,serve,mcp,ray,inspect,images]" --group dev --group docs
	$(PIP) check
	PYTHON=$(BIN)/python sh scripts/system-packages
	touch $@

$(CHECKED): $(DEV) $(NATIVE)
	CUECARD_BOUNDSCHECK=1 $(BUILD)
	rm -f $(FAST) && touch $@

$(FAST): $(DEV) $(NATIVE)
	CUECARD_BOUNDSCHECK=0 $(BUILD)
	rm -f $(CHECKED) && touch $@

clean:
	rm -rf $(VENV) out site .ruff_cache .mypy_cache .pytest_cache .import_linter_cache
