"""Which rationales explain a prediction: how each graph is linked to them, and where in it the links come from."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.rationales.neighbourhoods import node_links

SMALLEST_CORRELATION = 0.05  # a rationale that is linked less often than this explains nothing


@dataclass(frozen=True, eq=False)
class RationaleExplanations:
    """Of many graphs: how often each rationale is linked, and how strongly each node's surroundings are."""

    graphs: PackedGraphs
    target: Tensor  # [graphs]: the class explained, the predicted one
    probability: Tensor  # [graphs]: calibrated, of that class
    correlation: Tensor  # [graphs, rationales]: averaged over draws
    unreached: Tensor  # [graphs]: probability that no rationale is linked
    node_score: Tensor  # [nodes] in [0, 1]: how strongly the surroundings of a node alone are linked to the class
    places: tuple[dict[int, tuple[int, ...]], ...]  # for each graph: rationale -> nodes where its structure was found
    predictions: Predictions  # of the same graphs

    @property
    def weight(self) -> Tensor:
        """[graphs, rationales]: shares of the correlated rationales, as the local rationale averages them."""
        return self.correlation / self.correlation.sum(-1, keepdim=True).clamp(min=1e-9)

    @property
    def edge_score(self) -> Tensor:
        """[edges] in [0, 1]: the lower score of its two nodes."""
        return self.node_score[self.graphs.global_edge_index].amin(0)


@torch.no_grad()
def explain_by_rationales(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, seed: int = 0
) -> RationaleExplanations:
    """The averaged correlation row of each graph and, for the predicted class, where its links come from."""
    graphs = matching(graphs, model.classifier.schema)
    predictions = predict(model, graphs, seed=seed)
    target, correlation = predictions.label, predictions.correlation
    assert correlation is not None
    assert predictions.distance is not None
    own = rationales.label == target[:, None]
    places: list[dict[int, tuple[int, ...]]] = [{} for _ in range(len(graphs))]
    substructures = kind_of(graphs.schema).substructures(graphs)
    if substructures is not None:
        for number, structure in enumerate(rationales.structures):
            if structure is None:
                continue
            asked = torch.where(own[:, number] & (correlation[:, number] >= SMALLEST_CORRELATION))[0].tolist()
            for graph, nodes in zip(asked, substructures.all_places(structure, asked), strict=True):
                if nodes:
                    places[graph][number] = nodes
    return RationaleExplanations(
        graphs,
        target,
        predictions.probabilities.gather(1, target[:, None])[:, 0],
        correlation,
        predictions.distance,
        node_links(model, graphs, target),
        tuple(places),
        predictions,
    )
