"""Where in a graph the links come from: what the neighbourhood of each node says by itself."""

import torch
from torch import Tensor

from graphfnp.graphs.degrees import degree_feature
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.prediction.predict import NODE_BUDGET, TrainedModel


@torch.no_grad()
def node_links(model: TrainedModel, graphs: PackedGraphs, target: Tensor) -> Tensor:
    """[nodes] in [0, 1]: how strongly the surroundings of a node alone are linked to the class ``target`` [graphs].

    A neighbourhood, a node with its neighbours, is a small graph: its P(some link of the class) =
    1 - prod_{j of the class} (1 - kappa_j) is asked of the model as of any graph. A node has the mean over the
    neighbourhoods that hold it, small ones counting more.
    """
    classifier = model.classifier
    rationales = classifier.rationales()
    assert rationales is not None
    classifier.eval()
    found = []
    for index in graphs.batch_indices(256, node_budget=NODE_BUDGET // 4):
        batch = graphs.batch(index)
        balls, centre, member = neighbourhoods(batch, graphs.schema.features)
        kappa = classifier.correlation_probability(balls)
        own = rationales.label == target[index][batch.batch][:, None]
        linked = 1 - torch.where(own, 1 - kappa, 1.0).prod(-1)
        weight = balls.sizes[centre].reciprocal()
        total = torch.zeros(2, batch.num_nodes).index_add_(1, member, torch.stack([linked[centre] * weight, weight]))
        found.append(total[0] / total[1])
    return torch.cat(found) if found else torch.zeros(0)


def neighbourhoods(batch: Batch, features: str) -> tuple[Batch, Tensor, Tensor]:
    """For each node the graph of it and its neighbours; and for each node of those its centre and who it is."""
    count, (source, target) = batch.num_nodes, batch.edge_index
    everyone = torch.arange(count)
    key = torch.cat([everyone * count + everyone, target * count + source]).unique()
    centre, member = key // count, key % count
    # Edges into a member are edges of the neighbourhood if they come from another member of it.
    degree = torch.bincount(target, minlength=count)
    first, repeats = degree.cumsum(0) - degree, degree[member]
    row = torch.repeat_interleave(torch.arange(len(key)), repeats)
    edge = first[member[row]] + torch.arange(len(row)) - torch.repeat_interleave(repeats.cumsum(0) - repeats, repeats)
    sought = centre[row] * count + source[edge]
    place = torch.searchsorted(key, sought).clamp(max=len(key) - 1)
    inside = key[place] == sought
    edge_index, edge = torch.stack([place[inside], row[inside]]), edge[inside]
    sizes = torch.bincount(centre, minlength=count)
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    x = degree_feature(edge_index, len(key)) if features == "degree" else batch.x[member]
    edge_attr = None if batch.edge_attr is None else batch.edge_attr[edge]
    node_type = None if batch.node_type is None else batch.node_type[member]
    y = batch.y[batch.batch]
    return Batch(x, edge_index, centre, ptr, y, edge_attr, node_type, batch.undirected), centre, member
