# Front door. Each target is a short call of cmake, ctest or a script in tools/; `make help` lists
# them. Everything that is made goes under build/.
SHELL := /bin/bash
.DEFAULT_GOAL := release
.PHONY: release dev clang deps venv demo test tsan-test tiny-test install-test lint format \
        bench bench-parquet bench-spill bench-venv coverage fuzz install clean help

# Compile jobs. Two by default: some files take a GiB each under sanitizers.
JOBS ?= 2
# Where `make install` puts things; DESTDIR works as usual.
PREFIX ?= /usr/local
# Seconds for each fuzz target under `make fuzz`.
FUZZ_SECONDS ?= 60

PYTHON := /usr/bin/python3
VENV := build/venv
BENCH_VENV := build/venv-bench

# Configures when needed and builds one preset into build/<preset>.
define build_preset
	@test -f build/$(1)/build.ninja || cmake --preset $(1) >/dev/null
	@cmake --build --preset $(1) -j $(JOBS)
endef

release: ## build/release/outcore and the libraries (what plain `make` does)
	$(call build_preset,release)

dev: ## debug build without sanitizers in build/dev
	$(call build_preset,dev)

clang: ## release build by clang, for its warnings, in build/clang
	$(call build_preset,clang)

deps: ## apt packages that are missing (Debian 12 names)
	@tools/install_deps.sh

venv: ## build/venv with pyarrow, duckdb, pytest, tpchgen-cli; goes on without when offline
	@tools/make_venv.sh $(PYTHON) $(VENV)

demo: ## sort TPC-H lineitem (6 million rows) in 64 MiB with each codec and check the result
	@tools/demo.sh

test: ## build with sanitizers and for release, run every unit and Python test
	@tools/test.sh asan-ubsan release

tsan-test: ## the unit tests under ThreadSanitizer
	$(call build_preset,tsan)
	@$(PYTHON) tools/run_tests.py --ctest build/tsan

tiny-test: ## the unit tests with tiny limits, under sanitizers
	$(call build_preset,tiny)
	@$(PYTHON) tools/run_tests.py --ctest build/tiny

install-test: release ## build C and C++ programs against an installed copy
	@tests/install/run.sh build/release

lint: ## format, layers, style, clang-tidy
	@tools/lint.sh

format: ## apply .clang-format to all C files
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r clang-format -i

bench: release ## run every program in build/release/bench; prints what each measures
	@tools/bench.sh build/release/bench

bench-venv: ## build/venv-bench with the peers of the benchmarks; goes on without when offline
	@tools/make_venv.sh $(PYTHON) $(BENCH_VENV) bench/requirements.txt

bench-spill: release bench-venv ## spill files: sizes, speed, peers, figures; writes bench/results/*.csv
	@tools/bench_spill.sh build/release $(BENCH_VENV)

bench-parquet: release venv ## reading and writing Parquet beside pyarrow and DuckDB, one thread each
	@build/venv/bin/python bench/parquet_peers.py

coverage: ## line coverage of the unit tests in build/coverage/report.txt
	@tools/install_deps.sh gcovr
	$(call build_preset,coverage)
	@$(PYTHON) tools/run_tests.py --ctest build/coverage
	@gcovr --root . --object-directory build/coverage --exclude '.*_test\.c' --exclude 'tests/.*' \
	    --print-summary --output build/coverage/report.txt
	@echo "per file: build/coverage/report.txt"

fuzz: ## each fuzz target for FUZZ_SECONDS (default 60)
	$(call build_preset,fuzz)
	@tools/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

install: release ## headers, libraries, outcore.pc, CMake package, program under PREFIX
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove build/ except the venvs
	@find build -mindepth 1 -maxdepth 1 ! -name 'venv*' -exec rm -rf {} + 2>/dev/null || true

help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
