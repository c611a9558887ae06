"""The generation loss: how well the decoder writes down graphs, and telling parts of them, from their embedding."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch
from graphfnp.graphs.subgraphs import induced_subgraphs, random_connected_nodes
from graphfnp.methods.graphfnp.decoder.breadth_first import breadth_first_decisions
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder

GRAPHS_A_STEP = 16  # of a batch: decoding a graph costs as much as classifying ten


def generation_loss(decoder: GraphDecoder, graphs: Batch, z: Tensor) -> Tensor:
    """-log p(G | z) per node; graphs larger than the decoder's limit are cut to a random connected part."""
    limit = graphs.sizes.clamp(max=decoder.config.max_nodes)
    if (limit < graphs.sizes).any():
        graphs = induced_subgraphs(graphs, random_connected_nodes(graphs, limit, torch.default_generator))
    decisions = breadth_first_decisions(graphs, torch.default_generator)
    return -decoder.log_likelihood(decisions, z).sum() / graphs.num_nodes


def some_graphs(batch: Batch, weight: Tensor | None = None) -> Tensor:
    """Numbers of a few graphs of a batch, drawn by their weight."""
    count = min(GRAPHS_A_STEP, batch.num_graphs)
    if weight is None:
        return torch.randperm(batch.num_graphs)[:count].to(batch.ptr.device)
    return torch.multinomial(weight + 1e-3, count)
