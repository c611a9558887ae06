"""The generation loss: how well the decoder writes graphs down, and random parts of them, from their embedding."""

import torch
from torch import Tensor

from graphfnp.graphs import Batch
from graphfnp.model.breadth_first import breadth_first_decisions
from graphfnp.model.config import GraphFNPConfig
from graphfnp.model.graph_decoder import GraphDecoder
from graphfnp.model.subgraphs import SMALLEST_PART, induced_subgraphs, random_connected_nodes


def generation_loss(decoder: GraphDecoder, batch: Batch, z: Tensor, config: GraphFNPConfig) -> Tensor:
    """-log p(G | z) per node, over a few graphs of the batch.

    Some are cut to a random connected part of random size, decoded from the embedding of the whole: then the decoder,
    told a small size, answers with what graphs around z are made of.
    """
    chosen = torch.randperm(batch.num_graphs)[: config.decoder_graphs].to(z.device)
    graphs, z = batch.select(chosen), z[chosen]
    sizes = graphs.sizes.clamp(max=config.decoder.max_nodes)
    span = (sizes - SMALLEST_PART).clamp(min=1)
    parts = SMALLEST_PART + (torch.rand(len(sizes), device=z.device) * span).long()
    sizes = torch.where(torch.rand(len(sizes), device=z.device) < config.decoder_parts, torch.minimum(parts, sizes), sizes)
    if (sizes < graphs.sizes).any():
        graphs = induced_subgraphs(graphs, random_connected_nodes(graphs, sizes, torch.default_generator))
    decisions = breadth_first_decisions(graphs, torch.default_generator)
    return -decoder.log_likelihood(decisions, z).sum() / graphs.num_nodes
