"""Your own graphs and your own network: ``python examples/bring_your_own_graphs.py``.

Any list of PyG ``Data`` (or of NetworkX graphs) will do, and any module that maps (x, edge_index) to node states.
Here: do sensors lie on a ring or fill a disc? And what does the model predict for sensors that do neither?
"""

import argparse

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

import graphfnp

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--quick", action="store_true", help="few graphs and epochs, for a quick test")
options = parser.parse_args()
torch.manual_seed(0)


def sensors(shape: str) -> torch.Tensor:
    """[sensors, 2]: places on a ring, or all over the disc."""
    angle = 2 * torch.pi * torch.rand(int(torch.randint(15, 30, ())), 1)
    radius = 1 if shape == "ring" else torch.rand_like(angle).sqrt()
    return radius * torch.cat([angle.cos(), angle.sin()], dim=1) + 0.15 * torch.randn(len(angle), 2)


def network(place: torch.Tensor, label: str | None = None) -> Data:
    """Each sensor linked with its three nearest; a graph without label is one to predict."""
    nearest = torch.cdist(place, place).topk(4, largest=False).indices[:, 1:]
    links = torch.stack([torch.arange(len(place)).repeat_interleave(3), nearest.flatten()])
    return Data(x=place, edge_index=torch.cat([links, links.flip(0)], dim=1).unique(dim=1), y=label)


shapes = ("ring", "disc") * (50 if options.quick else 300)
data = graphfnp.load([network(sensors(shape), shape) for shape in shapes])  # finds features, classes; splits at random
names = data.graphs.schema.class_names
print(data)

# Your module replaces the built-in backbones; load_model(folder, backbone=...) needs the same module.
backbone = GraphSAGE(in_channels=2, hidden_channels=64, num_layers=3, out_channels=64)
classifier = graphfnp.make_classifier("graphfnp", data.graphs.schema, backbone=backbone)
config = graphfnp.TrainingConfig(epochs=3 if options.quick else 30, finishing_epochs=1)
model = graphfnp.train(classifier, data.train, data.validation, config).model
metrics, _ = graphfnp.evaluate(model, data.test)
print(f"accuracy {metrics['accuracy']:.3f}, NLL {metrics['nll']:.3f} on {metrics['num_graphs']} test graphs")

# A probability holds for graphs like those trained on. The distance says whether a graph is like them: 0 at a
# rationale, 1 far from all of them.
line = torch.stack([torch.linspace(0, 5, 20), torch.linspace(4, 6, 20)], dim=1)
new = {"a ring": sensors("ring"), "a disc": sensors("disc"), "a line far out": line}
predictions = graphfnp.predict(model, graphfnp.from_data_list([network(place) for place in new.values()], names))
for name, label, probability, distance in zip(
    new, predictions.label.tolist(), predictions.confidence.tolist(), predictions.distance.tolist(), strict=True
):
    verdict = "  <- unlike the training data" if distance > 0.99 else ""
    print(f"{name:15} {names[label]} with probability {probability:.2f}, distance {distance:.2f}{verdict}")
