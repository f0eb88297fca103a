# Two commands do everything, set-up included, from a bare python3 (>= 3.11):
#   make demo    the paper's story on real data: ten lines and a report
#   make test    lint, types, import directions, documentation, tests, doctests
# Beside them: make docs (the documentation, in docs/_build/html), make fuzz (random files into every
# reader), make golden (all numbers that a change must keep), make oldest (the core tests with the
# oldest versions that pyproject.toml allows), make picture, make clean.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Modules are compiled once, not by each of the many processes that the tests and the documentation start.
unexport PYTHONDONTWRITEBYTECODE

# uv, which takes a quarter of the time; pip where uv cannot be had or does not work. Neither compiles
# modules: most are never used, and the others are compiled when they are, on more than one core.
define install
	@uv=$$(command -v uv || { $(BIN)/python -m pip install --quiet --disable-pip-version-check uv >/dev/null 2>&1 && echo $(BIN)/uv; }); \
	if [ -n "$$uv" ] && "$$uv" pip install --quiet --python $(BIN)/python -e '$(1)' 2>/dev/null; then :; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '$(1)'; fi
endef

.PHONY: demo test lint types imports docs tests tests-shown fuzz golden oldest picture clean

demo: $(VENV)/.core
	$(BIN)/aggcal demo -o demo

# Everything at once: tests often wait, and neither types nor the documentation need two cores. What
# the tests say is shown as they go on; what the others say, when each of them ends.
test: lint
	$(MAKE) -j 4 --output-sync docs types imports tests-shown

tests-shown:
	$(MAKE) --output-sync=none tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

# Warnings are errors, links into nowhere too; the examples are run.
docs: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -E -W --keep-going -n -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

tests: $(VENV)/.dev $(VENV)/.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# Random and mutated files into every reader, for a minute.
SECONDS ?= 60
fuzz: $(VENV)/.dev
	$(BIN)/python tests/io/fuzz_readers.py --seconds $(SECONDS)

# Numbers of all studies against those that were kept; the tests look at a share of them.
golden: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/golden/golden.py compare

# Every direct dependency at its lower bound, in an environment of its own: a bound that is too low
# fails here, not at a user's. The tools of the tests are as new as they come.
OLDEST := .venv-oldest
oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c $(OLDEST)/constraints.txt \
		-e '.[baselines]' pytest pytest-xdist hypothesis pandas polars pyarrow openpyxl markdown-it-py
	OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n auto --dist worksteal -m 'not slow' \
		tests/io tests/cli tests/advice tests/aggregation tests/calibration tests/report

# The pictures of README and the landing page (the report of the demo in a browser), and of the architecture page.
picture: $(VENV)/.dev $(VENV)/.browser
	$(BIN)/python docs/make_picture.py
	$(BIN)/python docs/make_architecture.py

clean:
	rm -rf $(VENV) $(OLDEST) src/aggcal/_core/kernels/kernels*.so demo docs/_build docs/examples docs/reference/api build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "aggcal needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml hatch_build.py $(wildcard src/aggcal/_core/kernels/*.[ch]*) | $(BIN)/python
	$(call install,.)
	@touch $@

$(VENV)/.dev: pyproject.toml hatch_build.py $(wildcard src/aggcal/_core/kernels/*.[ch]*) | $(BIN)/python
	$(call install,.[dev])
	@touch $@ $(VENV)/.core

# A browser for the tests of the report; where none can be had, they are skipped.
$(VENV)/.browser: $(VENV)/.dev tests/browser/chromium.py
	@$(BIN)/python tests/browser/chromium.py
	@touch $@
