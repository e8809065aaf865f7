# make demo   installs into .venv and compares schemes and methods on the built-in data set
# make demo CPU=1   the same in .venv-cpu, with PyTorch for the CPU (Linux): 1.8 GB instead of 8
# make test   installs into .venv and runs the test suite, notebooks in quick size included
# make test-slow   runs the long tests: fuzzers, killed processes, every parameter, other tools in
#             environments of their own, .venv-fiftyone and others (an hour)
# make wheel-test   builds the wheel, installs it into .venv-wheel and creates a project with it
# make notebooks   installs into .venv and executes all notebooks in full (1.5 hours)
# make atlas  installs into .venv and repeats the comparison of all schemes and methods (hours)
# make test-label-studio   installs Label Studio into .venv-label-studio and answers orders in it;
#             RECORD=--record saves its exports for the tests
# make mutants   installs into .venv and counts the changes of statistics, prices and simulators
#             that the tests notice (hours; SAMPLE=400 of each room): benchmarks/results/mutants.md
# make docs   installs into .venv and builds the documentation site: build/site/index.html
PYTHON ?= python3
SAMPLE ?= 400
VENV ?= $(if $(CPU),.venv-cpu,.venv)
# On Linux the torch wheels of PyPI need CUDA; PyTorch's own index has wheels for the CPU.
TORCH_CPU ?= --index-url https://download.pytorch.org/whl/cpu torch torchvision
SIMKIT = --editable '.$(if $(CPU),,[test])'
BIN = $(VENV)/bin

.PHONY: demo test test-slow wheel-test test-label-studio notebooks atlas mutants docs clean

demo: $(VENV)/installed
	$(BIN)/simkit compare --out runs
	@echo "in this shell, simkit is $(BIN)/simkit"

test: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

test-slow: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n auto --dist loadfile

wheel-test:
	rm -rf dist .venv-wheel
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(MAKE) .venv-wheel/installed VENV=.venv-wheel SIMKIT=dist/*.whl
	.venv-wheel/bin/python scripts/wheel_test.py

test-label-studio: $(VENV)/installed $(VENV)-label-studio/installed
	$(BIN)/python -m tests.orders.label_studio.roundtrip $(VENV)-label-studio/bin/label-studio $(RECORD)

notebooks: $(VENV)/installed
	SIMKIT_SIZE=full $(BIN)/python scripts/notebooks.py

atlas: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/python scripts/atlas.py

mutants: $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'mutmut>=3.8'
	$(BIN)/python scripts/mutants.py --sample $(SAMPLE) --out benchmarks/results/mutants.md

docs: $(VENV)/installed
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs . build/site

$(VENV)/installed: pyproject.toml requirements-cpu.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "simkit needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
ifdef CPU
	$(BIN)/python -m pip install $(TORCH_CPU)
	$(BIN)/python -m pip install --requirement requirements-cpu.txt
endif
	$(BIN)/python -m pip install $(if $(CPU),--no-deps) $(SIMKIT)
	touch $@

$(VENV)-label-studio/installed:
	$(PYTHON) -m venv $(VENV)-label-studio
	$(VENV)-label-studio/bin/python -m pip install --quiet label-studio==1.23.2
	touch $@

clean:
	rm -rf .venv .venv-* build dist runs docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
