"""Explanations of many graphs, and the parts of graphs they point at."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.edges import edge_pairs, neighbours_once, pair_mean
from graphfnp.graphs.packed import PackedGraphs, rows_of
from graphfnp.graphs.pointers import pointers, rank_within


def symmetric(edge_mask: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """[edges]: the mean over the directions of each edge."""
    pair, count = edge_pairs(edge_index, num_nodes)
    return pair_mean(edge_mask, pair, count)[pair]


def nodes_of_edges(edge_mask: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """[nodes]: the largest mask of a node's edges, so that above any threshold nodes are the ends of the edges."""
    ends = edge_index.flatten()
    return edge_mask.new_zeros(num_nodes).scatter_reduce_(0, ends, edge_mask.repeat(2), "amax")


def edges_of_nodes(node_mask: Tensor, edge_index: Tensor) -> Tensor:
    """[edges]: the smaller mask of both ends, so that above any threshold edges are those among the nodes."""
    return node_mask[edge_index].amin(0)


def top_share(score: Tensor, owner: Tensor, share: float) -> Tensor:
    """[items], bool: of each owner's items the best ``share``, rounded up, as far as they score; but at least one.

    Of equals the first are kept.
    """
    rank = rank_within(score, owner)
    # A hair less, or 0.2 * 15 would round up to 4.
    kept = torch.ceil(share * torch.bincount(owner).double() - 1e-9)
    return (rank < kept[owner]) & ((score > 0) | (rank == 0))


def top_edges(edge_mask: Tensor, edge_index: Tensor, owner: Tensor, share: float) -> Tensor:
    """[edges], bool: of each graph's undirected edges the best ``share``; ``owner`` [nodes] is each node's graph."""
    pair, count = edge_pairs(edge_index, len(owner))
    pair_owner = owner.new_zeros(count).scatter_(0, pair, owner[edge_index[0]])
    return top_share(pair_mean(edge_mask, pair, count), pair_owner, share)[pair]


SHARE = 0.5  # of a graph that an explanation keeps: sparsity 0.5


@dataclass(frozen=True, eq=False)
class Explanations:
    """Scores in [0, 1] of the edges and nodes of many graphs for each graph's target class.

    ``scored`` says what the explainer scored; the other mask follows from it, so that above any threshold edges and
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
                raise InvalidGraphs(f"a {name} with values outside [0, 1]", "a valid mask", "correct the explainer")


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
    fields = rows_of(graphs, node_kept, edge_kept)
    return replace(
        graphs,
        **{**fields, "x": graphs.schema.refeaturised(fields["x"], numbered)},
        edge_index=numbered - torch.repeat_interleave(node_ptr[:-1], edge_ptr.diff()),
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=explanations.target,
        text=None,
        origin=None,
    )


def explanation_records(graphs: PackedGraphs, explanations: Explanations, rows: list[int]) -> list[dict[str, Any]]:
    """Records in the order of the graphs; every undirected edge once, as [i, j, mask], i < j."""
    kept, names = kept_edges(graphs, explanations), graphs.schema.class_names
    nodes_kept = kept_nodes(graphs, explanations)
    records = []
    for g, row in enumerate(rows):
        nodes, edges = (slice(int(ptr[g]), int(ptr[g + 1])) for ptr in (graphs.node_ptr, graphs.edge_ptr))
        between, once = neighbours_once(graphs.edge_index[:, edges])
        pairs = between.T.tolist()
        masks = explanations.edge_mask[edges][once].tolist()
        records.append(
            {
                "row": row,
                "input": graphs.text[g] if graphs.text else f"graph {row}",
                "class": names[int(explanations.target[g])],
                "edges": [[i, j, round(mask, 6)] for (i, j), mask in zip(pairs, masks, strict=True)],
                "nodes": [round(mask, 6) for mask in explanations.node_mask[nodes].tolist()],
                "kept_nodes": torch.where(nodes_kept[nodes])[0].tolist(),
                "kept": [pairs[k] for k in torch.where(kept[edges][once])[0].tolist()],
            }
        )
    return records
