# The recipes that people and CI share. `make` alone lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# CI is patient and shows everything; see .config/nextest.toml.
NEXTEST_PROFILE ?= $(if $(CI),ci,default)

# What `make demo` may be told.
PLAN ?= examples/demo.yaml
DURATION ?=
EXIT ?=
HTTP ?= 127.0.0.1:7070
AGENTS ?= 127.0.0.1:7071
TARGET ?= 127.0.0.1:7080

# What `make simulate` may be told.
SEEDS ?= 10000
FIRST ?= 0

.PHONY: help
help: ## list these targets
	@echo 'make TARGET, where TARGET is one of'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'make demo takes DURATION=30s, EXIT=1 (end by itself), PLAN=FILE, HTTP=, AGENTS= and TARGET= (addresses)'

.PHONY: demo
demo: build ## coordinator, two agents, an echo target and a run to look at, until Ctrl-C
	@PLAN='$(PLAN)' DURATION='$(DURATION)' EXIT='$(EXIT)' HTTP='$(HTTP)' AGENTS='$(AGENTS)' TARGET='$(TARGET)' \
	  deploy/demo.sh

.PHONY: build
build: assets ## the program, as target/release/volley
	deploy/need.sh cc
	cargo build --release --locked -p volley-cli

.PHONY: assets
assets: web/node_modules/.package-lock.json ## the pages' third-party scripts, from the npm lockfile

.PHONY: test
test: build e2e/node_modules/.package-lock.json ## every test, with what they need from apt, npm and crates.io
	deploy/need.sh curl nginx chromium python3 python3-prometheus-client ip ss unshare faketime cargo-nextest
	cargo test --locked --workspace --doc --quiet
	cargo nextest run --locked --workspace --profile $(NEXTEST_PROFILE)
	python3 -m unittest discover -s bench/peers

.PHONY: lint
lint: assets ## format, clippy, dependencies and shell scripts; warnings are errors
	deploy/need.sh shellcheck cargo-deny
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo deny --locked check bans licenses sources
	git ls-files -co --exclude-standard -z -- '*.sh' .ci/run | xargs -0 shellcheck

.PHONY: soak
soak: build ## what takes minutes; CASE=16, 19, 20, 28, 31, healthy or store runs one (VOLLEY_SOAK_MB says how large a store)
	deploy/need.sh cc curl ip ss unshare cargo-nextest
	cargo nextest run --locked --release --run-ignored only --no-capture --profile soak \
	  -p volley-e2e -p volley-coordinator -E 'test(/soak_.*$(CASE)/)'

.PHONY: simulate
simulate: ## a seeded simulation of whole fleets: as many runs as SEEDS says, from seed FIRST on
	cargo run --release --locked -p volley-simulation -- --seeds $(SEEDS) --first $(FIRST)

.PHONY: screenshots
screenshots: build e2e/node_modules/.package-lock.json ## pictures of the pages, in target/screenshots
	deploy/need.sh chromium
	node e2e/browser/screenshots.mjs target/release/volley "$$(command -v chromium)" target/screenshots

.PHONY: fmt
fmt: ## put the code into the one format
	cargo fmt --all

# npm writes this file last, so it tells whether the packages are those of the lockfile.
%/node_modules/.package-lock.json: %/package.json %/package-lock.json
	deploy/need.sh npm
	npm ci --prefix $*
	touch $@
