# Two commands: `make demo` and `make test`. Each sets up its own virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test lint types slow attack docs clean

demo: $(STAMP)
	$(BIN)/graphfnp demo --out runs/demo

test: lint types
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

slow: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --slow $(ARGS)

attack: $(STAMP)  # ten minutes of hostile inputs at every door, on loopback
	$(BIN)/python tests/attack/attack.py $(ARGS)

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # the variable: no advertisement of its makers

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,text,gp,cluster,service,docs]'
	touch $@

clean:
	rm -rf $(VENV) runs build
