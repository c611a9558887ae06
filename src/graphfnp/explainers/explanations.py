"""Explanations of many graphs, and the parts of graphs they point at."""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs
from graphfnp.explainers.edge_masks import top_edges, top_share
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.pointers import pointers

SHARE = 0.5  # of a graph that an explanation keeps: sparsity 0.5


@dataclass(frozen=True, eq=False)
class Explanations:
    """How much each edge and each node of many graphs speaks for the graph's target class, in [0, 1].

    ``scored`` says what the explainer judged; the other mask follows from it, so that above any threshold edges and
    nodes are one subgraph.
    """

    edge_mask: Tensor  # [edges], the same in both directions
    node_mask: Tensor  # [nodes]
    target: Tensor  # [graphs]: the class that was explained
    scored: Literal["edges", "nodes"]
    seconds: float = 0.0  # of processor time, a graph
    fitting_seconds: float = 0.0  # once, for explainers that learn on training graphs

    def __post_init__(self) -> None:
        for name in ("edge_mask", "node_mask"):
            mask = getattr(self, name)
            if not bool(((mask >= 0) & (mask <= 1)).all()):
                raise InvalidGraphs(f"a {name} with values outside [0, 1]", "a valid mask", "mend the explainer")


def kept_edges(graphs: PackedGraphs, explanations: Explanations, share: float = SHARE) -> Tensor:
    """[edges], bool: the edges of the explanation.

    Where edges were scored, the best ``share`` of each graph's edges; where nodes were, the edges among the best
    ``share`` of its nodes.
    """
    edges, owner = graphs.global_edge_index, graphs.node_owner
    if explanations.scored == "edges":
        return top_edges(explanations.edge_mask, edges, owner, share)
    return kept_nodes(graphs, explanations, share)[edges].all(0)


def kept_nodes(graphs: PackedGraphs, explanations: Explanations, share: float = SHARE) -> Tensor:
    """[nodes], bool: where nodes were scored, the best share, without those left out; else the ends of kept edges."""
    owner = graphs.node_owner
    if explanations.scored == "nodes":
        return top_share(explanations.node_mask, owner, share) & (explanations.node_mask > 0)
    edges, kept = graphs.global_edge_index, torch.zeros(len(owner), dtype=torch.bool)
    kept[edges[:, kept_edges(graphs, explanations, share)].flatten()] = True
    return kept


def explanation_subgraphs(graphs: PackedGraphs, explanations: Explanations, share: float = SHARE) -> PackedGraphs:
    """The part of each graph that its explanation keeps, labelled with the class explained.

    Degrees are counted anew where they are the features; other features stay what the model saw. A graph without edges
    stays whole.
    """
    edges, owner = graphs.global_edge_index, graphs.node_owner
    edge_kept = kept_edges(graphs, explanations, share)
    node_kept = kept_nodes(graphs, explanations, share)
    if explanations.scored == "edges":
        node_kept |= (graphs.edge_ptr.diff() == 0)[owner]
    number = node_kept.cumsum(0) - 1
    node_ptr = pointers(torch.bincount(owner[node_kept], minlength=len(graphs)))
    edge_ptr = pointers(torch.bincount(owner[edges[0, edge_kept]], minlength=len(graphs)))
    numbered = number[edges[:, edge_kept]]
    return replace(
        graphs,
        x=graphs.schema.refeaturised(graphs.x[node_kept], numbered),
        edge_index=numbered - torch.repeat_interleave(node_ptr[:-1], edge_ptr.diff()),
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=explanations.target,
        edge_attr=None if graphs.edge_attr is None else graphs.edge_attr[edge_kept],
        node_type=None if graphs.node_type is None else graphs.node_type[node_kept],
        edge_truth=None if graphs.edge_truth is None else graphs.edge_truth[edge_kept],
        text=None,
    )
