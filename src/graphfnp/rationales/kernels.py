"""How graphs and structures are correlated with rationales: kappa at the means, or averaged over draws."""

from collections.abc import Sequence

import torch
from torch import Tensor

from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import BATCH_SIZE, NODE_BUDGET, NUM_DRAWS, TrainedModel


@torch.no_grad()
def structure_kernels(model: TrainedModel, structures: Sequence[Structure]) -> Tensor:
    """[structures, rationales]: kappa at the means."""
    return graph_kernels(model, graphs_from_structures(structures, model.classifier.schema))


@torch.no_grad()
def graph_kernels(model: TrainedModel, graphs: PackedGraphs) -> Tensor:
    """[graphs, rationales]: kappa at the means."""
    classifier = with_rationales(model.classifier).eval()
    batches = graphs.batches(BATCH_SIZE, node_budget=NODE_BUDGET)
    return torch.cat([classifier.correlation_probability(classifier.encode(batch)) for batch in batches])


def specific_kernel(kernel: Tensor, rationales: Rationales) -> Tensor:
    """[structures, rationales]: kappa_j (1 - max kappa to a rationale of another class)."""
    other = rationales.label[:, None] != rationales.label  # [rationales, rationales]
    highest = torch.stack([kernel[:, mask].amax(1) if mask.any() else kernel.new_zeros(len(kernel)) for mask in other])
    return kernel * (1 - highest.T)


@torch.no_grad()
def correlations(model: TrainedModel, graphs: PackedGraphs, num_draws: int = NUM_DRAWS, seed: int = 0) -> Tensor:
    """[graphs, rationales]: averaged over draws."""
    classifier = with_rationales(model.classifier).eval()
    batches = graphs.batches(BATCH_SIZE, node_budget=NODE_BUDGET)
    return torch.cat([classifier.mean_correlation(classifier.encode(batch), num_draws, seed) for batch in batches])
