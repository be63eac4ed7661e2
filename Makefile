# Every target sets up what it needs by itself and is quick when nothing changed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Worker processes of the test run: kernels and BLAS are then held to one thread each (tests/conftest.py).
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow register test-register coverage test-kernels test-oldest lint types bench bench-compare which-method growth pictures docs docs-test changelog wheel wheels fuzz browser reproduce clean

help:
	@echo "make demo    the five published systems on problems like those of their papers, beside k-means"
	@echo "make test    lint, types and the tests (minutes)"
	@echo "make test-slow  what make test leaves out: slow tests, and many more random examples (before a release)"
	@echo "make register  write what follows from a new line in src/consilience/_register.py"
	@echo "make test-register  what a new method has to bring, and where (seconds)"
	@echo "make coverage  the tests once more, and which lines they reach"
	@echo "make test-kernels  tests of the kernels with every index of compiled code checked (minutes)"
	@echo "make test-oldest  all tests with the lowest versions of pyproject.toml (before a release, or after a change of them)"
	@echo "make lint    ruff, mypy and the workflows only"
	@echo "make bench   the benchmarks (benchmarks/README.md)"
	@echo "make bench-compare  a short set of benchmarks beside the stored baseline (minutes)"
	@echo "make growth  measure how cost grows where that was not done, and write docs/research/growth.md"
	@echo "make which-method  measure methods that were not, and write the pages that show them"
	@echo "make docs    the site, into build/site; open build/site/index.html (no network, minutes)"
	@echo "make docs-test  the same, then every page in a browser: links, requests, messages, overflow"
	@echo "make pictures  the two pictures of the README, from the library and the stored figures"
	@echo "make changelog  gather changelog.d into CHANGELOG.md, for a release"
	@echo "make wheels  source archive and wheels, into dist/, checked"
	@echo "make wheel   the wheels alone: the pure one, and one with compiled kernels for this Python and system (minutes)"
	@echo "make fuzz    hostile inputs against every promise: MINUTES=30 SEED=1 (tests/fuzz)"
	@echo "make reproduce  the published tables on the data in DATA, into docs/reproduction/"
	@echo "make clean   remove everything the other targets made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "consilience needs Python 3.10 or newer, found " + sys.version.split()[0] + "; run make PYTHON=/path/to/python3.x")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.demo $(VENV)/.docs

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@if command -v actionlint >/dev/null; then actionlint; fi

# The share of lines that tests reach must not fall below the floor; without the reference data it is lower by little.
COVERED ?= 95
test: lint browser
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report= --cov-fail-under=$(COVERED)

# What is slow, and every test with random examples at its thorough settings.
test-slow: export HYPOTHESIS_PROFILE := thorough
test-slow: $(VENV)/.dev browser
	$(BIN)/python -m pytest -n $(WORKERS) -m "(slow or hypothesis) and not pages"

# What follows from a new line of the register: names for type checkers, a row in the table of methods, the list of names.
register: $(VENV)/.dev
	$(BIN)/python -m tests.register
	$(BIN)/python -m tests.public_names

test-register: $(VENV)/.dev
	$(BIN)/python -m pytest -q -m register tests/test_register.py tests/types

# Compiled kernels leave no trace of their lines and are not counted (pyproject.toml).
coverage: $(VENV)/.dev browser
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-report=html:build/coverage

# Compiled code does not look where it writes, unless it is compiled like this. Its cache is kept apart from the usual one.
test-kernels: export NUMBA_BOUNDSCHECK := 1
test-kernels: export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)/checked-kernels
test-kernels: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) tests/kernels tests/consensus

# The lowest versions that pyproject.toml declares, on the oldest Python that is here and that they were built for; in an
# environment of its own. Part of it: make test-oldest TESTS="tests/io tests/cli". The page and the reference data do not
# depend on versions of libraries.
OLDEST ?= $(shell for version in 3.10 3.11 3.12; do \
	for python in python$$version "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
		if "$$python" -c 'import venv' 2>/dev/null; then echo "$$python"; exit; fi; done; done)
TESTS  ?= tests
test-oldest: export NUMBA_CACHE_DIR := $(CURDIR)/$(VENV)-oldest/kernels
test-oldest: $(VENV)-oldest/.floors
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) -m "not shared and not browser and not slow and not pages" $(TESTS)

$(VENV)-oldest/.floors: pyproject.toml tests/oldest.py
	@test -n "$(OLDEST)" || { echo "no Python 3.10 to 3.12 here, for which there are such old versions: make test-oldest OLDEST=/path/to/python3.10"; exit 1; }
	$(OLDEST) -m venv --clear $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --no-deps --editable .
	$(VENV)-oldest/bin/python -m tests.oldest > $(VENV)-oldest/floors.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --requirement $(VENV)-oldest/floors.txt
	$(VENV)-oldest/bin/python -m pip check
	@touch $@

# The page is tested in a real browser: CHROMIUM=/path/to/one, the one that is installed, or, as root on Debian, one
# installed now. It is tried once; where there is none, those tests are skipped and say so.
export CHROMIUM
browser: $(VENV)/.dev
	@found="$$(for name in $${CHROMIUM:-chromium chromium-browser google-chrome google-chrome-stable chrome}; do command -v "$$name" && break; done)"; \
	if [ -z "$$found" ] && [ -z "$$CHROMIUM" ] && [ ! -e $(VENV)/.browser ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "browser tests: installing Chromium"; touch $(VENV)/.browser; \
		{ apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >$(VENV)/browser.log 2>&1 </dev/null; \
		found="$$(command -v chromium)"; \
	fi; \
	if [ -n "$$found" ]; then echo "browser tests: $$found"; \
	else echo "browser tests: skipped, no Chromium here (install one, or make test CHROMIUM=/path/to/chromium)"; fi

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

# Make the outcome the baseline: make bench-compare COMPARE=--store
COMPARE ?=
bench-compare: $(VENV)/.dev
	$(BIN)/python -m benchmarks.compare $(COMPARE)

which-method: $(VENV)/.dev
	$(BIN)/python -m benchmarks which-method

growth: $(VENV)/.dev
	$(BIN)/python -m benchmarks growth

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# Warnings are errors. Examples of the gallery that did not change are not run again.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -W --keep-going -n -j 2 -b html docs build/site
	@echo "the site: build/site/index.html"

docs-test: export CONSILIENCE_SITE := $(CURDIR)/build/site
docs-test: docs browser
	$(BIN)/python -m pytest -n $(WORKERS) -m "pages or site"

pictures: $(VENV)/.docs
	PYTHONPATH=docs:. $(BIN)/python -m _ext.pictures

changelog: $(VENV)/.dev
	$(BIN)/towncrier build --yes

# The source archive and the wheel made from it, looked at, and the wheel tried in an environment of its own.
wheels: $(VENV)/.dev
	rm -rf dist $(VENV)/tried
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(VENV)/tried
	$(VENV)/tried/bin/python -m pip install --quiet dist/*-none-any.whl
	$(VENV)/tried/bin/python -c '$(TRY)'
	$(MAKE) wheel

TRY := import consilience as cs; assert cs.consensus.LWGP(2).fit_predict([[0, 0], [0, 0], [1, 1]]).tolist() == [0, 0, 1]
# Also that nothing is compiled.
TRY_STORE := $(TRY); from consilience._kernels.compile.cached import times_compiled; assert times_compiled() == 0, times_compiled()

# The pure wheel, and one for this Python and kind of system that carries compiled kernels (minutes), which is tried without
# a folder in which kernels could be kept.
wheel: $(VENV)/.dev
	ls dist/*-none-any.whl >/dev/null 2>&1 || $(BIN)/python -m build --quiet --wheel
	rm -f dist/*-cp3*.whl
	$(BIN)/python tools/platform_wheel.py dist/*-none-any.whl
	$(BIN)/twine check --strict dist/*.whl
	rm -rf $(VENV)/tried && $(BIN)/python -m venv $(VENV)/tried
	$(VENV)/tried/bin/python -m pip install --quiet dist/*-cp3*.whl "$$($(BIN)/python -c 'import numba; print(f"numba=={numba.__version__}")')"
	cache=$$(mktemp -d) && NUMBA_CACHE_DIR=$$cache $(VENV)/tried/bin/python -c '$(TRY_STORE)' && rm -rf $$cache

# A failing case is saved in fuzz-failures; python -m tests.fuzz --replay FILE runs it again.
MINUTES ?= 10
SEED    ?= 0
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --jobs $$($(BIN)/python -c 'import joblib; print(joblib.cpu_count())')

# Continues where it was stopped. A part of it: make reproduce REPRODUCE="--only spce,spce-settings"
DATA      ?= ../shared/data
REPRODUCE ?= --time-limit 1200 --memory-limit 4GB
reproduce: $(VENV)/.dev
	@test -d "$(DATA)" || { echo "no data folder at $(DATA): make reproduce DATA=DIR"; exit 1; }
	$(BIN)/python -m reproduction all --data "$(DATA)" --out results/reproduction $(REPRODUCE)
	$(BIN)/python -m reproduction report results/reproduction --out docs/reproduction

clean:
	rm -rf $(VENV) $(VENV)-oldest demo results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis fuzz-failures
	rm -rf docs/api docs/gallery docs/_pictures
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
