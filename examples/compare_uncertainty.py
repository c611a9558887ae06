"""Which method has calibrated probabilities? ``python examples/compare_uncertainty.py [dataset]``.

Trains a plain graph network, GraphFNP without rationales and GraphFNP on the same graphs. ECE is the gap between
confidence and accuracy; with few graphs even perfect probabilities show a gap, the floor.
"""

import argparse
from dataclasses import replace

import torch

import graphfnp
from graphfnp.datasets.ba2motifs import generate_ba2motifs

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("dataset", nargs="?", help="a name of `graphfnp data list`, or a file; default: noisy BA2Motifs")
parser.add_argument("--quick", action="store_true", help="small models on few graphs, for a quick test")
options = parser.parse_args()

if options.dataset:
    data = graphfnp.load(options.dataset, limit=40 if options.quick else None)
else:
    # Every fifth label is wrong, in all parts: no model can reach more than 80 %, and a calibrated one claims no more.
    graphs = generate_ba2motifs(120 if options.quick else 1000)
    wrong = torch.rand(len(graphs), generator=torch.Generator().manual_seed(0)) < 0.2
    data = graphfnp.load(replace(graphs, y=torch.where(wrong, 1 - graphs.y, graphs.y)))
print(data)

settings = {"backbone.width": 32} if options.quick else {}
config = graphfnp.TrainingConfig(epochs=2 if options.quick else 30, finishing_epochs=0)
print(f"{'method':14} {'accuracy':>8} {'NLL':>6} {'ECE':>6} {'floor':>6} {'model uncertainty':>18}")
for method in ("vanilla", "no-rationales", "graphfnp"):
    classifier = graphfnp.make_classifier(method, data.graphs.schema, settings, seed=0)
    model = graphfnp.train(classifier, data.train, data.validation, config, seed=0).model
    metrics, predictions = graphfnp.evaluate(model, data.test)
    print(
        f"{method:14} {metrics['accuracy']:8.3f} {metrics['nll']:6.3f} {metrics['ece']:6.3f}"
        f" {metrics['ece_floor']:6.3f} {predictions.model_uncertainty.mean():18.4f}"
    )
