"""One plain record for each explained graph: the class, the masks, and the part that is kept."""

from typing import Any

import torch

from graphfnp.explainers.explanations import SHARE, Explanations, kept_edges, kept_nodes
from graphfnp.graphs.packed import PackedGraphs


def explanation_records(
    graphs: PackedGraphs, explanations: Explanations, rows: list[int], share: float = SHARE
) -> list[dict[str, Any]]:
    """Records in the order of the graphs; every undirected edge once, as [i, j, mask], i < j."""
    kept, names = kept_edges(graphs, explanations, share), graphs.schema.class_names
    nodes_kept = kept_nodes(graphs, explanations, share)
    records = []
    for g, row in enumerate(rows):
        nodes, edges = (slice(int(ptr[g]), int(ptr[g + 1])) for ptr in (graphs.node_ptr, graphs.edge_ptr))
        source, target = graphs.edge_index[:, edges].long()
        once = torch.where(source < target)[0]
        pairs = list(zip(source[once].tolist(), target[once].tolist(), strict=True))
        masks = explanations.edge_mask[edges][once].tolist()
        records.append(
            {
                "row": row,
                "input": graphs.text[g] if graphs.text else f"graph {row}",
                "class": names[int(explanations.target[g])],
                "edges": [[i, j, round(mask, 6)] for (i, j), mask in zip(pairs, masks, strict=True)],
                "nodes": [round(mask, 6) for mask in explanations.node_mask[nodes].tolist()],
                "kept_nodes": torch.where(nodes_kept[nodes])[0].tolist(),
                "kept": [list(pairs[k]) for k in torch.where(kept[edges][once])[0].tolist()],
            }
        )
    return records
