"""NeighbourSum as a layer of PyG, whose messages an explainer can mask."""

from typing import Optional

from torch import Tensor
from torch_geometric.nn import MessagePassing

from graphfnp.networks.neighbourhood import NeighbourSum


class ExplainedSum(NeighbourSum, MessagePassing):
    """The same sum, its messages passed by PyG."""

    def summed(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge: Tensor | None) -> Tensor:
        return self.propagate(edge_index, x=x, weight=weight, edge=edge, size=(len(x), len(x)))  # type: ignore[operator]

    # PyG reads this signature by itself and does not know "Tensor | None".
    def message(self, x_j: Tensor, weight: Tensor, edge: Optional[Tensor]) -> Tensor:  # noqa: UP045
        return NeighbourSum.message(self, x_j, weight, edge)


def become_pyg_layer(layer: NeighbourSum) -> None:
    """In place, as PyTorch's lazy modules do it: weights, their names, hooks and mode stay."""
    if isinstance(layer, MessagePassing):
        return
    fresh = ExplainedSum.__new__(ExplainedSum)
    MessagePassing.__init__(fresh, aggr="add")
    fresh.train(layer.training)  # also the parts that PyG has made
    own = vars(layer).copy()
    vars(layer).update({**vars(fresh), **own, "_modules": {**fresh._modules, **own["_modules"]}})
    layer.__class__ = ExplainedSum
