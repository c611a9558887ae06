"""ProtGNN's own explanation: the parts of training graphs that its prototypes are."""

from typing import Any

import torch

from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure, substructure
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales


@torch.no_grad()
def prototype_rationales(classifier: GraphClassifier, graphs: PackedGraphs, seed: int = 0) -> Rationales:
    """The prototypes, where ``graphs`` are the training graphs in their order; other graphs show no structures.

    ``class_probability`` is what the model says of a prototype, and so of its structure. Nothing is drawn.
    """
    if not hasattr(classifier, "prototype_nodes"):
        raise InvalidConfig(
            f"a {type(classifier).__name__}, which has no prototypes",
            "a trained ProtGNN classifier",
            "train with --method protgnn, or choose another explainer",
        )
    model: Any = classifier
    probability = model.logits(model.prototype).softmax(-1)[torch.arange(len(model.label)), model.label]
    structures = tuple(_structure(graphs, model.prototype_nodes(j, graphs)) for j in range(len(model.label)))
    return Rationales(model.prototype.detach().clone(), model.label, structures, probability)


def _structure(graphs: PackedGraphs, place: tuple[int, list[int]] | None) -> Structure | None:
    return None if place is None else substructure(structures_from_graphs(graphs.select([place[0]]))[0], place[1])
