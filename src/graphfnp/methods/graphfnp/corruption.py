"""Graphs as the data never has them: the E-step learns that no rationale reaches these."""

from dataclasses import replace

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch


def with_shuffled_nodes(batch: Batch) -> tuple[Batch, Tensor]:
    """The same structures, the features of all nodes shuffled in the batch; and the share of nodes that changed.

    Where all nodes look alike nothing changes, and such graphs teach nothing.
    """
    x = batch.x[torch.randperm(batch.num_nodes, device=batch.x.device)]
    changed = (x != batch.x).any(-1).float()
    share = torch.zeros(batch.num_graphs, device=x.device).index_add_(0, batch.batch, changed) / batch.sizes.clamp(
        min=1
    )
    return replace(batch, x=x), share
