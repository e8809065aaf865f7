# make demo   installs into .venv and answers the main question on the built-in data set
# make test   installs into .venv and runs the whole suite, notebooks included
# make atlas  installs into .venv and repeats the comparison of all schemes and methods (hours)
# make test-label-studio   installs Label Studio beside .venv and answers orders in it;
#             RECORD=--record keeps its exports for the tests
# make docs   installs into .venv and writes the API reference: docs/api/index.html
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-label-studio notebooks atlas docs clean

demo: $(VENV)/installed
	$(BIN)/simkit compare --out runs
	@echo "the figure is runs/heat_map.png, the table runs/table.csv, all results lie in runs/"

test: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

test-label-studio: $(VENV)/installed $(VENV)-label-studio/installed
	$(BIN)/python -m tests.orders.label_studio.roundtrip $(VENV)-label-studio/bin/label-studio $(RECORD)

notebooks: $(VENV)/installed
	SIMKIT_SIZE=full $(BIN)/python scripts/notebooks.py

atlas: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/python scripts/atlas.py

docs: $(VENV)/installed
	$(BIN)/python scripts/reference.py

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "simkit needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

$(VENV)-label-studio/installed:
	$(PYTHON) -m venv $(VENV)-label-studio
	$(VENV)-label-studio/bin/python -m pip install --quiet label-studio==1.23.2
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-label-studio runs docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
