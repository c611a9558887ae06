# Two commands: `make demo` and `make test`. Each sets up its own virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ABSOLUTE := $(abspath $(BIN))

.PHONY: demo test lint types slow attack docs pictures bundles bench clean

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

PAGES ?= docs/quick-start.md docs/chemists-guide.md
pictures: $(STAMP)  # runs the commands that pages show, writes down what they print, and photographs what they made
	mkdir -p runs/pages
	test -e runs/pages/molecules.csv || cp "$$GRAPHFNP_DATA/BBBP/BBBP.csv" runs/pages/molecules.csv
	cd runs/pages && test -e runs/ba2motifs || $(ABSOLUTE)/graphfnp demo --out runs/ba2motifs
	cd runs/pages && test -e runs/molecules-graphfnp-0 || $(ABSOLUTE)/graphfnp train molecules.csv --smiles smiles \
		--label p_np --split scaffold --epochs 15 --set backbone.width=64 --set decoder.width=32
	PATH="$(ABSOLUTE):$$PATH" python docs/rerun_commands.py runs/pages $(PAGES)
	PATH="$(ABSOLUTE):$$PATH" python docs/take_pictures.py runs/pages $(ARGS)

bundles: $(STAMP)  # trains the models that ship with the package again, an hour each; ARGS="bbbp": only that one
	$(BIN)/graphfnp bundle $(ARGS)

BENCHMARKS ?= prediction decoder_likelihood epoch batching featurising explainers
bench: $(STAMP)  # the races of benchmarks/README.md that need nothing but the data; ARGS=--json writes their ratios down
	for name in $(BENCHMARKS); do echo "== $$name"; OMP_NUM_THREADS=1 $(BIN)/python benchmarks/$$name.py $(ARGS) || exit 1; done

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,text,gp,cluster,service,docs]'
	touch $@

clean:
	rm -rf $(VENV) runs build
