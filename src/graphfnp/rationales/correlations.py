"""How often each graph is correlated with each rationale."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.prediction.predict import BATCH_SIZE, NODE_BUDGET, NUM_DRAWS, TrainedModel


@torch.no_grad()
def correlations(model: TrainedModel, graphs: PackedGraphs, num_draws: int = NUM_DRAWS, seed: int = 0) -> Tensor | None:
    """[graphs, rationales]: averaged over draws; None if the method has no rationales."""
    model.classifier.eval()
    parts = [
        model.classifier.mean_correlation(batch, num_draws, seed)
        for batch in graphs.batches(BATCH_SIZE, node_budget=NODE_BUDGET)
    ]
    return None if any(part is None for part in parts) else torch.cat(parts)  # type: ignore[arg-type]
