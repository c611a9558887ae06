"""PackedGraphs: many graphs as a few flat tensors, and the Batch a network sees."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from graphfnp.graphs.checks import UNLABELLED as UNLABELLED
from graphfnp.graphs.checks import check
from graphfnp.graphs.edges import degree_feature, global_edges
from graphfnp.graphs.pointers import owners, pointers, ranges
from graphfnp.graphs.schema import Origin as Origin
from graphfnp.graphs.schema import Schema as Schema


def rows_of(
    graphs: "Batch | PackedGraphs", nodes: Tensor, edges: Tensor, index: Tensor | None = None
) -> dict[str, Any]:
    """The fields with a row for each node, each edge and (if ``index`` is given) each graph, at these rows."""
    rows = {"x": nodes, "node_type": nodes, "edge_attr": edges, "edge_truth": edges}
    rows |= {} if index is None else {"y": index, "weight": index, "descriptors": index}
    fields = {name: getattr(graphs, name, None) for name in rows}
    return {name: values[rows[name]] for name, values in fields.items() if values is not None}


@dataclass(frozen=True)
class Batch:
    """Several graphs in one: node numbers are global, ``batch`` is the graph of each node."""

    x: Tensor  # [nodes, columns]
    edge_index: Tensor  # [2, edges], sorted by target then source
    batch: Tensor  # [nodes]
    ptr: Tensor  # [graphs + 1]
    y: Tensor  # [graphs]
    edge_attr: Tensor | None = None  # [edges, columns]
    node_type: Tensor | None = None  # [nodes]
    undirected: bool = True  # every edge is there in both directions
    weight: Tensor | None = None  # [graphs], of mean one: how much each counts in the training loss; None: all alike
    descriptors: Tensor | None = None  # [graphs, columns]: what is known of each beside its structure

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        return len(self.x)

    @property
    def sizes(self) -> Tensor:
        return self.ptr.diff()

    def select(self, index: Tensor) -> "Batch":
        """The graphs with these numbers, in this order."""
        edge_ptr = pointers(torch.bincount(self.batch[self.edge_index[1]], minlength=self.num_graphs))
        nodes, ptr = ranges(self.ptr, index)
        edges, edge_ptr = ranges(edge_ptr, index)
        shift = torch.repeat_interleave(ptr[:-1] - self.ptr[index], edge_ptr.diff())
        fields = rows_of(self, nodes, edges, index)
        return replace(self, **fields, edge_index=self.edge_index[:, edges] + shift, batch=owners(ptr), ptr=ptr)

    def to(self, device: torch.device | str) -> "Batch":
        moved: dict[str, Any] = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class PackedGraphs:
    """Graphs as flat tensors; graph g owns nodes ``node_ptr[g]:node_ptr[g+1]`` and likewise edges.

    Node numbers in ``edge_index`` are local to their graph, so taking graphs out is index arithmetic. Inside a graph
    edges are sorted by target, then source, so that a batch is a CSR matrix without sorting. Use :meth:`build` for
    data from outside: it sorts and checks.
    """

    x: Tensor  # [nodes, columns], integer if categorical
    edge_index: Tensor  # [2, edges]
    node_ptr: Tensor  # [graphs + 1]
    edge_ptr: Tensor  # [graphs + 1]
    y: Tensor  # [graphs], UNLABELLED where unknown
    schema: Schema
    edge_attr: Tensor | None = None  # [edges, columns], integer; the first column is the edge type
    node_type: Tensor | None = None  # [nodes], integer; absent: all are type 0
    edge_truth: Tensor | None = None  # [edges], bool: the edges a perfect explanation would name
    text: tuple[str, ...] | None = None  # [graphs]: SMILES or sentence
    undirected: bool = field(default=True)
    origin: tuple[Origin, ...] | None = None  # [graphs]: of texts that are standard forms
    descriptors: Tensor | None = None  # [graphs, columns]: what is known of each beside its structure

    # ---------------------------------------------------------------- making

    @classmethod
    def build(
        cls,
        x: Tensor | None,
        edge_index: Tensor,
        node_ptr: Tensor,
        edge_ptr: Tensor,
        y: Tensor,
        schema: Schema,
        edge_attr: Tensor | None = None,
        node_type: Tensor | None = None,
        edge_truth: Tensor | None = None,
        text: Sequence[str] | None = None,
        origin: tuple[Origin, ...] | None = None,
        descriptors: Tensor | None = None,
    ) -> "PackedGraphs":
        """Sort and check the graphs, and find out whether all edges go both ways.

        Without ``x`` the features are the degrees, as the schema must say.
        """
        graphs = cls(
            torch.zeros(int(node_ptr[-1]), 1, dtype=torch.long) if x is None else x,
            edge_index, node_ptr, edge_ptr, y, schema, edge_attr, node_type, edge_truth,
            None if text is None else tuple(text), origin=origin, descriptors=descriptors,
        )  # fmt: skip
        check(graphs)
        source, target = edges = graphs.global_edge_index
        if x is None:  # only now the edges are known to have nodes
            graphs = replace(graphs, x=degree_feature(edges, len(graphs.x)))
        count = max(len(graphs.x), 1)
        key = target * count + source
        order = torch.argsort(key)
        mirrored = torch.sort(source * count + target).values
        pick = None if (order.diff() == 1).all() else order
        sorted_fields: dict[str, Any] = {
            name: value if value is None or pick is None else value[..., pick] if name == "edge_index" else value[pick]
            for name, value in (("edge_index", edge_index), ("edge_attr", edge_attr), ("edge_truth", edge_truth))
        }
        return replace(graphs, **sorted_fields, undirected=bool(torch.equal(key[order], mirrored)))

    # ---------------------------------------------------------------- reading

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def __getitem__(self, graph: int) -> "PackedGraphs":
        """One graph, as a pack of its own: what splitters of scikit-learn ask a list for."""
        return self.select([range(len(self))[graph]])

    @property
    def num_classes(self) -> int:
        return self.schema.num_classes

    @property
    def node_owner(self) -> Tensor:
        """[nodes]: the graph of each node."""
        return owners(self.node_ptr)

    @property
    def edge_owner(self) -> Tensor:
        """[edges]: the graph of each edge."""
        return owners(self.edge_ptr)

    @property
    def global_edge_index(self) -> Tensor:
        """[2, edges], with nodes numbered over all graphs."""
        return global_edges(self.edge_index, self.node_ptr, self.edge_ptr)

    @property
    def sizes(self) -> Tensor:
        """[graphs]: nodes of each."""
        return self.node_ptr.diff()

    @property
    def smiles(self) -> tuple[str, ...] | None:
        """[graphs]: the texts, if they are those of molecules."""
        return self.text if self.schema.kind == "molecule" else None

    @cached_property
    def class_counts(self) -> Tensor:
        """Labelled graphs of each class."""
        return torch.bincount(self.y[self.y >= 0], minlength=self.num_classes)

    def __repr__(self) -> str:
        return (
            f"PackedGraphs({len(self)} {self.schema.kind}s, {len(self.x)} nodes, {self.edge_index.shape[1]} edges, "
            f"classes {dict(zip(self.schema.class_names, self.class_counts.tolist(), strict=True))})"
        )

    # ---------------------------------------------------------------- taking graphs out

    def select(self, index: Tensor | Sequence[int]) -> "PackedGraphs":
        """The graphs with these numbers, in this order."""
        index = torch.as_tensor(index, dtype=torch.long)
        nodes, node_ptr = ranges(self.node_ptr, index)
        edges, edge_ptr = ranges(self.edge_ptr, index)
        fields = rows_of(self, nodes, edges, index)
        return replace(
            self,
            **fields,
            edge_index=self.edge_index[:, edges],
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            text=None if self.text is None else tuple(self.text[i] for i in index.tolist()),
            origin=None if self.origin is None else tuple(self.origin[i] for i in index.tolist()),
        )

    def batch(self, index: Tensor | Sequence[int] | None = None) -> Batch:
        """The graphs with these numbers (default: all) side by side."""
        index = torch.arange(len(self)) if index is None else torch.as_tensor(index, dtype=torch.long)
        nodes, ptr = ranges(self.node_ptr, index)
        edges, edge_ptr = ranges(self.edge_ptr, index)
        return Batch(
            x=self.x[nodes].float() if self.schema.is_continuous else self.x[nodes].long(),
            edge_index=global_edges(self.edge_index[:, edges], ptr, edge_ptr),
            batch=owners(ptr),
            ptr=ptr,
            y=self.y[index],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges].long(),
            node_type=None if self.node_type is None else self.node_type[nodes].long(),
            undirected=self.undirected,
            descriptors=None if self.descriptors is None else self.descriptors[index],
        )

    def batches(
        self, size: int, generator: torch.Generator | None = None, node_budget: int | None = None
    ) -> Iterator[Batch]:
        """Batches of at most ``size`` graphs and ``node_budget`` nodes, shuffled if a generator is given."""
        for index in self.batch_indices(size, generator, node_budget):
            yield self.batch(index)

    def batch_indices(
        self, size: int, generator: torch.Generator | None = None, node_budget: int | None = None
    ) -> list[Tensor]:
        """The graph numbers of each batch; a graph larger than the budget is a batch of its own."""
        order = torch.arange(len(self)) if generator is None else torch.randperm(len(self), generator=generator)
        if node_budget is None:
            return list(order.split(size))
        starts, nodes = [0], 0
        for position, count in enumerate(self.sizes[order].tolist()):
            if position > starts[-1] and (nodes + count > node_budget or position - starts[-1] == size):
                starts.append(position)
                nodes = 0
            nodes += count
        return [order[a:b] for a, b in zip(starts, [*starts[1:], len(order)], strict=True)]


def concatenate(parts: Sequence[PackedGraphs]) -> PackedGraphs:
    """All graphs of several packs of one schema, in order."""
    first = parts[0]

    def joined(name: str) -> Tensor | None:
        values = [getattr(part, name) for part in parts]
        return (
            None if any(value is None for value in values) else torch.cat(values, dim=-1 if name == "edge_index" else 0)
        )

    fields = {
        name: joined(name) for name in ("x", "edge_index", "y", "edge_attr", "node_type", "edge_truth", "descriptors")
    }
    texts, origins = [part.text for part in parts], [part.origin for part in parts]
    return replace(
        first,
        **fields,  # type: ignore[arg-type]
        node_ptr=pointers(torch.cat([part.sizes for part in parts])),
        edge_ptr=pointers(torch.cat([part.edge_ptr.diff() for part in parts])),
        text=None if any(t is None for t in texts) else tuple(s for t in texts if t for s in t),
        origin=None if any(o is None for o in origins) else tuple(s for o in origins if o for s in o),
        undirected=all(part.undirected for part in parts),
    )


def side_by_side(first: Batch, second: Batch) -> Batch:
    """One batch with the graphs of both."""

    def joined(a: Tensor | None, b: Tensor | None) -> Tensor | None:
        return None if a is None or b is None else torch.cat([a, b])

    return Batch(
        x=torch.cat([first.x, second.x]),
        edge_index=torch.cat([first.edge_index, second.edge_index + first.num_nodes], dim=1),
        batch=torch.cat([first.batch, second.batch + first.num_graphs]),
        ptr=torch.cat([first.ptr, second.ptr[1:] + first.num_nodes]),
        y=torch.cat([first.y, second.y]),
        edge_attr=joined(first.edge_attr, second.edge_attr),
        node_type=joined(first.node_type, second.node_type),
        undirected=first.undirected and second.undirected,
        weight=joined(first.weight, second.weight),
        descriptors=joined(first.descriptors, second.descriptors),
    )
