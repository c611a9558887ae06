"""Classify graphs with uncertainty, and see the model's rationales: ``python examples/classify_and_explain.py``.

Without arguments it generates BA2Motifs: trees that carry a five-node cycle or a house. Give it a table of molecules
instead: ``python examples/classify_and_explain.py my.csv --smiles smiles --label active``.
"""

import argparse

import graphfnp

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("dataset", nargs="?", default="ba2motifs", help="a name of `graphfnp data list`, or a file")
parser.add_argument("--smiles", help="column of the molecules")
parser.add_argument("--label", help="column of the classes")
parser.add_argument("--out", default="runs/classify_and_explain", help="folder of the report")
parser.add_argument("--quick", action="store_true", help="a small model on few graphs, for a quick test")
options = parser.parse_args()

# Graphs with their classes, split into three parts: training, validation (calibration) and test.
limit = 40 if options.quick else None
data = graphfnp.load(options.dataset, smiles=options.smiles, label=options.label, limit=limit)
print(data)

# Any setting can be changed by its dotted name; see graphfnp.methods.graphfnp.config for all of them.
settings = {"backbone.width": 32, "decoder.width": 32} if options.quick else {}
epochs = 3 if options.quick else 25
classifier = graphfnp.make_classifier("graphfnp", data.graphs.schema, settings, seed=0)
training = graphfnp.train(classifier, data.train, data.validation, graphfnp.TrainingConfig(epochs=epochs), seed=0)
model = training.model
print(f"trained {len(training.history)} epochs")

# A prediction is a set of draws: their mean is the probability, their disagreement the model uncertainty.
predictions = graphfnp.predict(model, data.test)
names = data.graphs.schema.class_names
for graph in predictions.confidence.argsort()[:3].tolist():
    label, low_high = int(predictions.label[graph]), predictions.interval(0.9)[graph]
    low, high = low_high[label].tolist()
    print(
        f"test graph {graph}: {names[label]} with probability {predictions.confidence[graph]:.2f}"
        f" ({low:.2f} to {high:.2f} in nine of ten draws), really {names[int(data.test.y[graph])]}"
    )

# Rationales are learned points that every graph is compared with; they are decoded as small graphs.
decoding = graphfnp.DecodingConfig(candidates=10 if options.quick else 120)
rationales = graphfnp.find_rationales(model, decoding)
assert rationales is not None
for number, structure in enumerate(rationales.structures):
    edges = " ".join(f"{i}-{j}" for i, j, _ in structure.edges) if structure else "not decoded"
    print(f"rationale {number} for {names[int(rationales.label[number])]}: {edges}")

# One page with metrics, figures and drawings.
report = graphfnp.make_report(model, data.test, f"GraphFNP on {data.name}", history=training.history, decoding=decoding)
print(f"report  {graphfnp.write_report(report, options.out)}")
