# JCCL's main jobs; `make` alone lists them.

PYTHON ?= python3
RANKS ?= 2

VENV_PYTHON = .venv/bin/python
SHELL = /bin/bash
.SHELLFLAGS = -ec
.DEFAULT_GOAL = help
# Python keeps the bytecode that it compiles, even if the environment forbids it: compiling takes
# half of the time of an import of torch.
export PYTHONDONTWRITEBYTECODE =
export PYTHONPYCACHEPREFIX = $(CURDIR)/build/pycache

.PHONY: help demo test stress bench doctor format check-format install install-dev cuda-release clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

demo: install ## train on the handwritten digits by DDP, beside gloo (RANKS=2)
	@$(VENV_PYTHON) examples/digits/compare.py --ranks $(RANKS)

test: ## set up and run everything that must be green
	@$(PYTHON) .ci/suite.py test

stress: ## run the long form of the tests; writes docs/stress.log
	@$(PYTHON) .ci/suite.py stress

bench: install ## time all-reduce beside gloo and OpenMPI; BENCH="all_gather -n 4" times that alone
	@$(VENV_PYTHON) $(if $(BENCH),-m jccl.bench $(BENCH),bench/compare.py)

doctor: ## check the prerequisites and say what to install
	@$(PYTHON) .ci/doctor.py

format: install-dev ## format Java, Python and C
	@$(VENV_PYTHON) .ci/formatting.py
	@$(VENV_PYTHON) -m ruff check --quiet --select I --fix .

check-format: install-dev ## say which files are not formatted
	@$(VENV_PYTHON) .ci/formatting.py --check

install: ## make .venv with JCCL, torch and scikit-learn
	@$(PYTHON) .ci/environment.py demo

install-dev: ## make .venv with the tools of the tests, without JCCL
	@$(PYTHON) .ci/environment.py dev

cuda-release: ## compile the kernels for all GPUs that they support
	@cuda/kernels.sh 90 100

clean: ## remove everything that was built, .venv included
	rm -rf .venv build java-core/target tests-java/target python-pkg/embed/target cuda/target \
	    cuda/build python-pkg/jccl/_lib
	rm -rf python-pkg/*.egg-info cuda/*.egg-info .pytest_cache .mypy_cache .ruff_cache
	find python-pkg tests-py .ci examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
