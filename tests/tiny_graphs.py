"""Small graphs and small settings that tests of several files share."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.registry import CLASSIFIERS
from graphfnp.randomness import stream
from graphfnp.settings import names
from graphfnp.training.config import TrainingConfig

TINY_TRAINING = TrainingConfig(epochs=2, batch_size=16, validation_draws=4, finishing_epochs=1)

SMALL = {
    "backbone.width": 16,
    "backbone.layers": 2,
    "decoder.width": 16,
    "decoder.layers": 1,
    "width": 16,
    "head_width": 16,
    "rationales_per_class": 2,
    "trees": 32,
}

TYPED = Schema(
    class_names=("ring", "path", "star"),
    node_sizes=(4,),
    edge_sizes=(3,),
    node_types=("a", "b", "c", "d"),
    edge_types=("thin", "thick", "dashed"),
    features="types",
)
NUMBERS = Schema(class_names=("ring", "path", "star"), node_width=4)


def small(method: str, **others: Any) -> dict[str, Any]:
    """Overrides that make a method small, as far as it has these settings."""
    known = names(CLASSIFIERS[method].config)
    return {**{name: value for name, value in SMALL.items() if name in known}, **others}


def packed(
    graphs: Sequence[tuple[int, Sequence[tuple[int, int]]]], y: Sequence[int], schema: Schema = TYPED, seed: int = 0
) -> PackedGraphs:
    """Graphs given as (number of nodes, edges); each edge is taken in both directions, features are drawn."""
    generator = stream(seed, "features")
    both = [torch.tensor([*edges, *((b, a) for a, b in edges)], dtype=torch.long).view(-1, 2).T for _, edges in graphs]
    node_ptr = torch.tensor([0, *(n for n, _ in graphs)]).cumsum(0)
    edge_ptr = torch.tensor([0, *(e.shape[1] for e in both)]).cumsum(0)
    nodes = int(node_ptr[-1])
    kinds = [
        torch.randint(size, (len(edges),), generator=generator) for size in schema.edge_sizes[:1] for _, edges in graphs
    ]
    node_type = None if schema.is_continuous else torch.randint(schema.node_sizes[0], (nodes, 1), generator=generator)
    return PackedGraphs.build(
        x=torch.randn(nodes, schema.node_width, generator=generator) if node_type is None else node_type,
        edge_index=torch.cat(both, dim=1),
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=torch.tensor(y),
        schema=schema,
        edge_attr=torch.cat([torch.cat([kind, kind]) for kind in kinds]).unsqueeze(1) if kinds else None,
        node_type=None if node_type is None else node_type[:, 0],
    )


def shapes(count: int, schema: Schema = TYPED, seed: int = 0, least: int = 4) -> PackedGraphs:
    """Rings, paths and stars (class 0, 1, 2 in turn) of ``least`` to ``least`` + 4 nodes with random features."""
    sizes = torch.randint(least, least + 5, (count,), generator=stream(seed, "sizes")).tolist()
    labels = [k % schema.num_classes for k in range(count)]
    return packed([(n, edges_of(label, n)) for n, label in zip(sizes, labels, strict=True)], labels, schema, seed)


def edges_of(label: int, n: int) -> list[tuple[int, int]]:
    path = [(i, i + 1) for i in range(n - 1)]
    return ([*path, (n - 1, 0)], path, [(0, i) for i in range(1, n)])[label]


def plain(*edges: tuple[int, int]) -> Structure:
    """A structure of these edges, all nodes and edges of one type."""
    return Structure((0,) * (1 + max(map(max, edges))), tuple((min(e), max(e), 0) for e in edges))


def relabelled(graphs: PackedGraphs, seed: int = 0) -> PackedGraphs:
    """The same graphs with the nodes of each renumbered at random."""
    generator = stream(seed, "relabelled")
    starts = graphs.node_ptr[:-1].tolist()
    new = torch.cat([torch.randperm(int(n), generator=generator) for n in graphs.node_ptr.diff()])  # new number, local
    place = new + torch.repeat_interleave(graphs.node_ptr[:-1], graphs.node_ptr.diff())
    owner = torch.repeat_interleave(torch.tensor(starts), graphs.edge_ptr.diff())

    def moved(values: Tensor | None) -> Tensor | None:
        return None if values is None else torch.empty_like(values).index_copy_(0, place, values)

    x = moved(graphs.x)
    assert x is not None
    return PackedGraphs.build(
        x, new[graphs.edge_index + owner], graphs.node_ptr, graphs.edge_ptr, graphs.y, graphs.schema,
        graphs.edge_attr, moved(graphs.node_type), graphs.edge_truth, graphs.text,
    )  # fmt: skip
