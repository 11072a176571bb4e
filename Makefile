GO       ?= go
TOOL      = $(GO) tool -modfile=go.tool.mod
TAGS      = nobadger,nomysql,nopgx
FUZZTIME ?= 20s
BENCHTIME ?= 1s
# The race detector needs a C compiler; without one the tests run without it.
RACE      = $(if $(shell command -v gcc cc clang 2>/dev/null),-race)

.DEFAULT_GOAL := help
.PHONY: help run build test lint fmt golden fuzz bench xcaddy clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## start the demo: gateway, simulated providers, a funded account
	@bin/fleetgate gateway demo

build: ## build bin/fleetgate
	CGO_ENABLED=0 $(GO) build -trimpath -tags $(TAGS) -ldflags '-s -w' -o bin/fleetgate ./cmd/fleetgate

test: ## run every test
	$(GO) test $(RACE) -timeout 20m ./...

lint: ## check format, vet and lint
	$(GO) mod tidy -diff
	$(TOOL) golangci-lint fmt --diff
	$(TOOL) golangci-lint run

fmt: ## format the code
	$(TOOL) golangci-lint fmt

golden: ## write the golden files anew from what the code does now
	$(GO) test . ./transform -update

fuzz: ## run each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
		done; \
	done

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

xcaddy: ## build bin/fleetgate-xcaddy from xcaddy.json, as others do
	$(GO) run ./cmd/build -config xcaddy.json -output bin/fleetgate-xcaddy

clean: ## remove what was built
	rm -rf bin artifacts
