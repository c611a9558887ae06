"""The generation loss: how well the decoder writes down graphs, and telling parts of them, from their embedding."""

import torch
from torch import Tensor

from graphfnp.graphs import Batch, side_by_side
from graphfnp.model.breadth_first import breadth_first_decisions
from graphfnp.model.graph_decoder import GraphDecoder
from graphfnp.model.subgraphs import induced_subgraphs, random_connected_nodes


def generation_loss(decoder: GraphDecoder, graphs: Batch, z: Tensor) -> Tensor:
    """-log p(G | z) per node; graphs larger than the decoder's limit are cut to a random connected part."""
    limit = graphs.sizes.clamp(max=decoder.config.max_nodes)
    if (limit < graphs.sizes).any():
        graphs = induced_subgraphs(graphs, random_connected_nodes(graphs, limit, torch.default_generator))
    decisions = breadth_first_decisions(graphs, torch.default_generator)
    return -decoder.log_likelihood(decisions, z).sum() / graphs.num_nodes


def some_graphs_and_parts(
    batch: Batch, parts: Batch | None, evidence: Tensor | None, z: Tensor, count: int, share: float
) -> tuple[Batch, Tensor]:
    """``count`` graphs of a batch and their embeddings, a ``share`` of them in the place of a part of theirs.

    A part is decoded from the embedding of its whole, so that the decoder, told a small size, answers with what graphs
    around z are made of. Parts are drawn by their ``evidence``: those that tell the class, not any.
    """
    num_parts = 0 if parts is None else min(int(count * share), batch.num_graphs)
    whole = torch.randperm(batch.num_graphs)[: count - num_parts].to(z.device)
    if parts is None or num_parts == 0:
        return batch.select(whole), z[whole]
    weight = torch.ones(batch.num_graphs, device=z.device) if evidence is None else evidence + 1e-3
    chosen = torch.multinomial(weight, num_parts)
    return side_by_side(batch.select(whole), parts.select(chosen)), torch.cat([z[whole], z[chosen]])
