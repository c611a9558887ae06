"""Where in a graph the links come from: what each node says in its graph, and what its neighbourhood says alone."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.graphs.pointers import owners, pointers, ranges
from graphfnp.methods.contract import with_rationales
from graphfnp.prediction.predict import NODE_BUDGET, TrainedModel

LARGEST_NEIGHBOURHOOD = 64  # nodes; one that may hold more ends with the neighbours: hubs reach everything in two steps
REFINEMENTS = 6  # rounds after which colours of so small graphs hardly change


def node_links(model: TrainedModel, graphs: PackedGraphs, target: Tensor) -> Tensor:
    """[nodes] in [0, 1]: how strongly each node is linked to the class ``target`` [graphs]: the mean of both readings.

    The state of a node knows what surrounds a reason; of a neighbourhood by itself nothing else was seen.
    """
    return torch.stack(node_readings(model, graphs, target)).mean(0)


@torch.no_grad()
def node_readings(model: TrainedModel, graphs: PackedGraphs, target: Tensor) -> tuple[Tensor, Tensor]:
    """P(some link of the class) = 1 - prod_{j of the class} (1 - kappa_j) of each node, [nodes], read in two ways.

    First: the state of the node, as it is in its graph, stands for the embedding of a graph. Second: the neighbourhood
    of each node, all within two steps, is encoded by itself, and a node has the mean over the neighbourhoods that hold
    it, small ones counting more.
    """
    classifier = with_rationales(model.classifier).eval()
    rationales = classifier.rationales()
    states, alone = [torch.zeros(0)], [torch.zeros(0)]
    for index in graphs.batch_indices(256, node_budget=NODE_BUDGET // 8):
        batch = graphs.batch(index)
        of_class = rationales.label == target[index][batch.batch][:, None]
        states.append(_some_link(classifier.node_correlation(batch), of_class))
        small, centre, member = neighbourhoods(batch, graphs.schema)
        first, same = distinct(small)
        linked = _some_link(classifier.correlation_probability(classifier.encode(small.select(first)))[same], of_class)
        weight = small.sizes[centre].reciprocal()
        total = torch.zeros(2, batch.num_nodes).index_add_(1, member, torch.stack([linked[centre] * weight, weight]))
        alone.append(total[0] / total[1])
    return torch.cat(states), torch.cat(alone)


def _some_link(kappa: Tensor, of_class: Tensor) -> Tensor:
    return 1 - torch.where(of_class, 1 - kappa, 1.0).prod(-1)


def distinct(batch: Batch) -> tuple[Tensor, Tensor]:
    """One graph of each sort, and for every graph the place of its sort among them.

    Of one sort are graphs that colour refinement, and so message passing, cannot tell apart: most neighbourhoods occur
    many times. Colours are hashes of 64 bits; features that are real numbers count by their bits.
    """
    source, target = batch.edge_index
    colour = _hash(batch.x)
    edge = 0 if batch.edge_attr is None else _hash(batch.edge_attr)
    for _ in range(REFINEMENTS):
        message = _mixed(colour[source] + edge)
        colour = _mixed(3 * colour + torch.zeros_like(colour).index_add_(0, target, message))
    sort = torch.zeros(batch.num_graphs, dtype=torch.long).index_add_(0, batch.batch, _mixed(colour))
    sorts, same = sort.unique(return_inverse=True)
    place = torch.arange(batch.num_graphs).flip(0)
    return torch.empty_like(sorts).scatter_(0, same.flip(0), place), same


def _hash(columns: Tensor) -> Tensor:
    """[rows]: of whole numbers or the bits of real ones; sums of 64 bits wrap around."""
    numbers = columns.double().view(torch.long) if columns.is_floating_point() else columns.long()
    result = torch.zeros(len(columns), dtype=torch.long)
    for column in numbers.unbind(1):
        result = _mixed(result + column)
    return result


def _mixed(x: Tensor) -> Tensor:
    """A step of splitmix64 (Steele et al. 2014), which spreads every bit over all."""
    x = x + 0x1E3779B97F4A7C15
    x = (x ^ (x >> 30)) * -0x40A7B892E31B1A47
    return x ^ (x >> 27)


def neighbourhoods(batch: Batch, schema: Schema) -> tuple[Batch, Tensor, Tensor]:
    """For each node the graph of all within two steps of it; and for each node of those its centre and who it is."""
    count, (source, target) = batch.num_nodes, batch.edge_index
    degree = torch.bincount(target, minlength=count)
    incoming = pointers(degree)  # edges are sorted by target

    def edges_into(node: Tensor) -> tuple[Tensor, Tensor]:
        """For each edge into one of these nodes: the place of the node among them, and the edge."""
        edge, chosen = ranges(incoming, node)
        return owners(chosen), edge

    itself = torch.arange(count)
    key = torch.cat([itself * count + itself, target * count + source]).unique()
    reach = 1 + torch.zeros_like(degree).index_add_(0, target, degree[source])
    growing = key[reach[key // count] <= LARGEST_NEIGHBOURHOOD]
    row, edge = edges_into(growing % count)
    key = torch.cat([key, growing[row] // count * count + source[edge]]).unique()
    centre, member = key // count, key % count
    # Edges into a member are edges of the neighbourhood if they come from another member of it.
    row, edge = edges_into(member)
    sought = centre[row] * count + source[edge]
    place = torch.searchsorted(key, sought).clamp(max=len(key) - 1)
    inside = key[place] == sought
    edge_index, edge = torch.stack([place[inside], row[inside]]), edge[inside]
    sizes = torch.bincount(centre, minlength=count)
    x = schema.refeaturised(batch.x[member], edge_index)
    edge_attr = None if batch.edge_attr is None else batch.edge_attr[edge]
    node_type = None if batch.node_type is None else batch.node_type[member]
    y = batch.y[batch.batch]
    return Batch(x, edge_index, centre, pointers(sizes), y, edge_attr, node_type, batch.undirected), centre, member
