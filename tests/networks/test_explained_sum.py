"""NeighbourSum is a plain module until an explainer of PyG looks for its layers."""

import copy

import pytest
import torch
from torch import Tensor
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import MessagePassing

from graphfnp.graphs.packed import Batch
from graphfnp.networks.convolutions import plain_edges
from graphfnp.networks.neighbourhood import Neighbourhood, NeighbourSum

WIDTH, SIZES = 8, (3, 2)


@pytest.fixture
def edges() -> Neighbourhood:
    """A path of four nodes and a node by itself; its edges have two features."""
    one_way = torch.tensor([[0, 1, 2], [1, 2, 3]])
    edge_index = torch.cat([one_way, one_way.flip(0)], dim=1)
    order = torch.argsort(edge_index[1] * 5 + edge_index[0])
    edge_attr = torch.tensor([[0, 1], [1, 0], [2, 1]]).repeat(2, 1)
    owner, ptr = torch.zeros(5, dtype=torch.long), torch.tensor([0, 5])
    batch = Batch(torch.zeros(5, 1), edge_index[:, order], owner, ptr, torch.zeros(1), edge_attr[order])
    return plain_edges(batch, SIZES, None)


@pytest.fixture
def layer() -> NeighbourSum:
    torch.manual_seed(0)
    return NeighbourSum(SIZES, WIDTH)


def by_edges(edges: Neighbourhood) -> Neighbourhood:
    """As for graphs whose edges go one way: no matrix."""
    return Neighbourhood(edges.edge_index, edges.weight, edges.edge_attr, edges.num_nodes, None, None)


def with_gradients(layer: NeighbourSum, edges: Neighbourhood) -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    x = torch.randn(edges.num_nodes, WIDTH, requires_grad=True)
    out = layer(x, edges)
    assert layer.edge_embedding is not None
    return out, *torch.autograd.grad(out.square().sum(), (x, layer.edge_embedding.table))


def test_it_is_no_layer_of_pyg_until_somebody_looks_through_the_modules(layer: NeighbourSum) -> None:
    names = list(layer.state_dict())
    assert not isinstance(layer, MessagePassing)
    assert layer in list(torch.nn.Sequential(layer).modules())
    assert isinstance(layer, MessagePassing)
    assert isinstance(layer, NeighbourSum)
    assert list(layer.state_dict()) == names == ["edge_embedding.table"]


@pytest.mark.parametrize("way", [lambda edges: edges, by_edges], ids=["matrix", "edge by edge"])
def test_becoming_a_layer_of_pyg_changes_no_digit(layer: NeighbourSum, edges: Neighbourhood, way) -> None:
    before = with_gradients(layer, way(edges))
    list(layer.modules())
    for one, other in zip(before, with_gradients(layer, way(edges)), strict=True):
        assert torch.equal(one, other)


def test_weights_hooks_and_mode_survive_the_change(layer: NeighbourSum, edges: Neighbourhood) -> None:
    calls: list[int] = []
    layer.register_forward_hook(lambda *_: calls.append(1))
    layer.eval()
    assert layer.edge_embedding is not None
    table = layer.edge_embedding.table
    list(layer.modules())
    layer(torch.randn(5, WIDTH), edges)
    assert calls == [1]
    assert not any(part.training for part in layer.modules())
    assert layer.edge_embedding.table is table


def test_masks_weigh_messages_and_are_gone_after_they_are_cleared(layer: NeighbourSum, edges: Neighbourhood) -> None:
    x = torch.randn(5, WIDTH)
    whole = layer(x, edges)
    set_masks(layer, torch.zeros(edges.edge_index.shape[1]), edges.edge_index, apply_sigmoid=False)
    assert layer.masked
    assert not layer(x, edges).any()
    clear_masks(layer)
    assert not layer.masked
    assert torch.equal(layer(x, edges), whole)


def test_a_copy_of_either_kind_is_of_that_kind_and_sums_alike(layer: NeighbourSum, edges: Neighbourhood) -> None:
    x = torch.randn(5, WIDTH)
    plain = copy.deepcopy(layer)
    assert type(plain) is NeighbourSum
    list(layer.modules())
    assert type(copy.deepcopy(layer)) is type(layer)
    assert torch.equal(copy.deepcopy(layer)(x, edges), plain(x, edges))
