"""How often each graph is correlated with each rationale."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import with_rationales
from graphfnp.prediction.predict import BATCH_SIZE, NODE_BUDGET, NUM_DRAWS, TrainedModel


@torch.no_grad()
def correlations(model: TrainedModel, graphs: PackedGraphs, num_draws: int = NUM_DRAWS, seed: int = 0) -> Tensor:
    """[graphs, rationales]: averaged over draws."""
    classifier = with_rationales(model.classifier).eval()
    batches = graphs.batches(BATCH_SIZE, node_budget=NODE_BUDGET)
    return torch.cat([classifier.mean_correlation(classifier.encode(batch), num_draws, seed) for batch in batches])
