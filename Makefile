# Two commands: `make demo` and `make test`. Each first installs what it needs into a virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUNTIME := $(VENV)/.installed-runtime
ABSOLUTE := $(abspath $(BIN))
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: demo test lint types slow attack docs notebook pictures bundles bench clean

demo: $(RUNTIME)
	@echo "2 of 3: training on BA2Motifs, random graphs with a cycle or a house in them (about two minutes)"
	@$(BIN)/graphfnp demo --out runs/demo
	@echo "3 of 3: drugs of docs/drugs.csv, by the bundled model bbbp: do they cross the blood-brain barrier?"
	@$(BIN)/graphfnp predict bbbp docs/drugs.csv
	@echo "Next:"
	@echo "  $(BIN)/graphfnp serve bbbp   a page for molecules of your own, at http://127.0.0.1:8000"
	@echo "  runs/demo/report.html          what was trained just now, to open in a browser"

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

notebook: $(STAMP)
	$(BIN)/python docs/run_notebook.py

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

BENCHMARKS ?= start_up whole_file growth service isolation 'featurising --processes 2' prediction 'prediction --dataset bbbp' batching \
	epoch processes decoder_likelihood explaining 'explainers --graphs 3 --epochs 3'
CHEMPROP ?= runs/chemprop
bench: $(STAMP)  # every row of the table of benchmarks/README.md; chemprop runs in CHEMPROP, an environment of its own
	for name in $(BENCHMARKS); do set -- $$name; script=$$1; shift; echo "== $$script $$*"; \
	  if [ $$script = whole_file ]; then set -- --environment $(CHEMPROP); fi; \
	  OMP_NUM_THREADS=1 $(BIN)/python benchmarks/$$script.py --json "$$@" || exit 1; done
	$(BIN)/python benchmarks/table.py

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,text,gp,cluster,service,docs]'
	touch $@

# What predicting, training and serving need; nothing where everything is installed already.
$(RUNTIME): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "Making the virtual environment $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@if [ $(STAMP) -nt pyproject.toml ]; then echo "1 of 3: everything is installed already"; else \
	  echo "1 of 3: installing GraphFNP, PyTorch, RDKit and the service into $(VENV) (a minute or more)"; \
	  $(BIN)/pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e '.[service]' 2>&1 \
	  | sed -un -e 's/^Collecting \([^ ]*\).*/  \1/p' -e 's/^Installing collected.*/  all is here, unpacking .../p' -e '/^ERROR/p'; fi
	@touch $@

clean:
	rm -rf $(VENV) runs build
