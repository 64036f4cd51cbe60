# Everything a contributor runs. `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SMOKE := tests/test_layout.py tests/test_docs.py tests/dsl/test_import.py tests/dsl/test_launch.py \
	tests/dsl/test_inspection.py tests/errors tests/frontend/test_translate.py tests/tileir/test_text.py \
	tests/tileir/passes tests/interp/test_tiles.py tests/backend_ptx/passes/test_golden.py \
	tests/backend_ptx/lower/test_coverage.py tests/backend_ptx/simulator/test_threads.py tests/catalogue/test_golden.py
BROWSER_TESTS := tests/dsl/test_explorer_in_browser.py tests/dsl/test_notebook_in_browser.py tests/test_site_in_browser.py

.PHONY: help demo check format test smoke test-all lint gpu-test gpu-sanitize gpu-report examples language-table sweep simulate assemble check-catalogue check-seeded compare-seeded fuse-chains test-browser products target-numerics protocols fuzz mutants bench-compile bench-interp clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# The environment is made once and again whenever one of these files changes. link_tree.py lets editors and type
# checkers see the package there.
$(STAMP): pyproject.toml tools/link_tree.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[test,dev]'
	$(BIN)/python tools/link_tree.py --environment
	touch $(STAMP)

demo: $(STAMP)  ## set up, run a kernel in the interpreter, check it, print its Tile IR and the head of its PTX
	$(BIN)/python examples/demo.py

check: lint  ## all that is checked without running anything: format, lint (ruff) and types (mypy)

format: $(STAMP)  ## restore the layout that make check holds: spaces, blank lines, quotes, order of imports
	$(BIN)/ruff check --fix-only .

# What tests start in processes of their own finds compiled modules in build/, whatever the environment says of them. Each
# worker begins with a half of the tests, so that what those of a file share is made once.
test: $(STAMP) check  ## set up, check, and run the tests (no GPU needed)
	env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX=$(CURDIR)/build/pycache \
		$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not gpu"

# PyTorch and JAX are no dependency: each has an environment of its own, made once.
WITH := build/with
.PHONY: test-torch test-jax
$(WITH)-%/.installed: pyproject.toml
	$(PYTHON) -m venv $(WITH)-$*
	$(WITH)-$*/bin/python -m pip install --quiet -e '.[$*]' pytest hypothesis
	touch $@

test-torch: $(WITH)-torch/.installed  ## the tests of operators of PyTorch, which this installs (without a GPU)
	TILEWRIGHT_REQUIRE=torch $(WITH)-torch/bin/python -m pytest -q tests/dsl/test_torch_*.py

test-jax: $(WITH)-jax/.installed  ## the tests of kernels in programs of JAX, which this installs (without a GPU)
	TILEWRIGHT_REQUIRE=jax JAX_PLATFORMS=cpu $(WITH)-jax/bin/python -m pytest -q tests/dsl/test_jax*.py

.PHONY: public-programs
PROGRAMS ?=
public-programs: $(WITH)-torch/.installed  ## other people's programs for cuTile in PROGRAMS=folder, unchanged, on the CPU
	@test -n "$(PROGRAMS)" || { echo "Say which: make public-programs PROGRAMS=folder"; exit 2; }
	$(WITH)-torch/bin/python tools/public_programs.py --cpu $(PROGRAMS)

smoke: $(STAMP)  ## a sample of the tests from every folder, in a minute
	$(BIN)/python -m pytest -q -n 2 $(SMOKE)

test-all:  ## the tests on every Python found from 3.11 up, each with an environment of its own
	$(PYTHON) tools/test_all.py

examples: $(STAMP)  ## run every example, each checks itself
	for f in examples/[!_]*.py examples/lessons/*.py; do echo "== $$f"; $(BIN)/python $$f || exit 1; done

lint: $(STAMP)  ## ruff (format and lint) and mypy, on the package and on what stands around it
	$(BIN)/python tools/link_tree.py
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tools/mypy.ini

gpu-test:  ## the GPU tests from an uninstalled checkout, no network: needs a driver and the dependencies in $(PYTHON)
	$(PYTHON) tools/link_tree.py
	PYTHONPATH=$(CURDIR)/build/typing:$$PYTHONPATH $(PYTHON) -m pytest -q -m gpu --require-gpu tests

gpu-sanitize:  ## the catalogue's kernels under compute-sanitizer (memcheck, racecheck, synccheck, initcheck), as gpu-test
	$(PYTHON) tools/link_tree.py
	PYTHONPATH=$(CURDIR)/build/typing:$$PYTHONPATH $(PYTHON) tools/sanitize.py

gpu-report:  ## everything that needs a GPU in lanes side by side: tests, sanitizer, fuzzing, benchmarks; as gpu-test
	$(PYTHON) tools/link_tree.py
	$(PYTHON) tools/gpu_report.py

.PHONY: gpu-compare
OLD ?=
gpu-compare:  ## the report's kernels of this checkout beside those of the one in OLD=folder, timed in turns; as gpu-test
	@test -n "$(OLD)" || { echo "Say which: make gpu-compare OLD=folder"; exit 2; }
	$(PYTHON) tools/link_tree.py
	PYTHONPATH=$(CURDIR)/build/typing:$(CURDIR):$(CURDIR)/examples:$$PYTHONPATH $(PYTHON) -m benchmarks.trees $(OLD) $(HOW)

.PHONY: compile-compare
compile-compare: HOW = --compile 60
compile-compare: gpu-compare  ## the times that the compilers of two checkouts take, in turns; OLD=folder as for gpu-compare

.PHONY: docs
docs: $(STAMP)  ## the documentation's site, into build/site; a warning or a broken link is an error
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	$(BIN)/python tools/link_tree.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict -f tools/docs_site/mkdocs.yml
	$(BIN)/python tools/docs_site/check_links.py build/site
	@echo "open build/site/index.html"

.PHONY: derivatives
derivatives: $(STAMP)  ## the derived kernels of softmax, attention and others in the simulator (the tests: three of them)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/derivatives

.PHONY: playground
WHEELS ?=
playground: docs  ## a page of the site that compiles and runs kernels in the browser; WHEELS=folder has NumPy for Pyodide
	$(BIN)/python tools/docs_site/playground/build.py $(if $(WHEELS),--wheels $(WHEELS))

language-table: $(STAMP)  ## print which names of the language are implemented where, and what calls them
	$(BIN)/python tools/language_table.py

sweep: $(STAMP)  ## compile and assemble thousands of kernels with all sorts of tiles and hints; goes on where it stopped
	$(BIN)/python -m benchmarks.sweep

simulate: $(STAMP)  ## the catalogue's code in the simulator, its dumps, what LLVM makes of it (the tests: parts of it)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/catalogue/test_simulator.py tests/catalogue/test_cells.py \
		tests/catalogue/test_dumps.py tests/backend_ptx/simulator/test_hopper_defects.py \
		tests/backend_ptx/lower/test_warpgroup.py tests/backend_ptx/resources/test_rungs.py \
		tests/backend_ptx/passes/test_split_stores.py tests/backend_ptx/passes/test_bulk_stores_simulated.py \
		tests/backend_ptx/passes/test_rings_random.py

assemble: $(STAMP)  ## assemble every catalogue kernel for every target, and the report's kernels (the tests: some)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/catalogue/test_ptx.py tests/benchmarks/test_figures.py

check-catalogue: $(STAMP)  ## every catalogue kernel and 2,000 generated ones checked: nothing may be reported (the tests: a third)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/interp/checking/test_clean.py

check-seeded: $(STAMP)  ## the kernels with seeded defects, checked in several orders of blocks (the tests: in one)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/interp/checking/test_seeded.py tests/interp/checking/test_seeded_blind.py

compare-seeded: $(STAMP)  ## tw.compare on every seeded defect of the compiler (the tests: some of them)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/dsl/test_comparing.py

fuse-chains: $(STAMP)  ## 500 random chains of kernels, fused and one by one: equal bits (the tests: 40)
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/combining/test_fuse.py

prove-catalogue: $(STAMP)  ## bounds and races of every catalogue kernel, proved for all launches; what is open, with reasons
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q tests/interp/proving

NPM := npm install --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 --prefix build/browser
test-browser: docs  ## the explorer, what notebooks display and the site in a headless Chromium, which must be there
	@command -v npm >/dev/null || echo "There is no npm to install axe-core with."
	@! command -v npm >/dev/null || $(NPM) axe-core@4.14.1 || echo "npm could not install axe-core."
	@test -d build/browser/node_modules/axe-core || echo "ACCESSIBILITY IS NOT CHECKED: that needs axe-core, from npm."
	TILEWRIGHT_REQUIRE_BROWSER=1 TILEWRIGHT_VERIFY=0 $(BIN)/python -m pytest -q -rs -n 2 --dist loadfile $(BROWSER_TESTS)

products: $(STAMP)  ## matrix multiplies of every small shape, dtype and target: assembled, simulated, decisions
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/backend_ptx/test_small_products.py

target-numerics: $(STAMP)  ## 60 matrix multiplies for every target: interpreter and simulator agree in every bit
	TILEWRIGHT_THOROUGH=1 $(BIN)/python -m pytest -q -n 2 tests/dsl/test_numerics.py

protocols: $(STAMP)  ## explore every interleaving of the protocols of all catalogue kernels with rings
	$(BIN)/python tools/protocols.py

.PHONY: test-heavy
test-heavy: simulate assemble products check-catalogue check-seeded compare-seeded fuse-chains prove-catalogue target-numerics protocols derivatives  ## all cases of what make test takes a part of

N ?= 1000
SEED ?= 0
SECONDS ?= 180
fuzz: $(STAMP)  ## N random programs and N mutants of each kind from SEED on, SECONDS for each; python -m fuzz --help
	$(BIN)/python tools/link_tree.py
	for what in programs ir tile kernels cli cache; do \
		PYTHONPATH=$(CURDIR)/tools $(BIN)/python -m fuzz $$what -n $(N) --seed $(SEED) --seconds $(SECONDS) -j 2 || exit 1; \
	done

mutants: $(STAMP)  ## a mutation test: 150 small defects drawn by SEED, run by the tests that enter them; resumes
	PYTHONPATH=$(CURDIR)/tools $(BIN)/python -m mutants record -j 2
	PYTHONPATH=$(CURDIR)/tools $(BIN)/python -m mutants run --seed $(SEED) -j 2
	PYTHONPATH=$(CURDIR)/tools $(BIN)/python -m mutants report --seed $(SEED)

bench-compile: $(STAMP)  ## time from a Python function to PTX, stage by stage, and of kernels of several lengths
	$(BIN)/python -m benchmarks.compile
	$(BIN)/python -m benchmarks.lengths

bench-interp: $(STAMP)  ## time the interpreter
	$(BIN)/python -m benchmarks.interp

clean:  ## remove what the targets made
	rm -rf $(VENV) build dist *.egg-info
