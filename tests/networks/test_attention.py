"""Graph attention by sparse products is PyG's GATConv, in value and in gradient."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GATConv

from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.networks.convolutions import GATLayer
from tiny_graphs import NUMBERS, TYPED, edges_of, packed

TWO_COLUMNS = replace(TYPED, edge_sizes=(3, 2))
every_schema = pytest.mark.parametrize("schema", [NUMBERS, TYPED, TWO_COLUMNS], ids=["bare", "typed", "two columns"])


def graphs_of(schema: Schema) -> PackedGraphs:
    """A ring, a path, a star, a lone node, a graph without edges, and one where some nodes have none."""
    ring, path, star = (edges_of(label, 6) for label in range(3))
    sizes_and_edges = [(6, ring), (6, path), (1, []), (6, star), (3, []), (5, [(1, 3)])]
    graphs = packed(sizes_and_edges, [0, 1, 2, 2, 0, 1], TYPED if schema is TWO_COLUMNS else schema)
    if schema is TWO_COLUMNS and graphs.edge_attr is not None:
        source, target = graphs.edge_index
        graphs = replace(graphs, edge_attr=torch.cat([graphs.edge_attr, ((source + target) % 2).unsqueeze(1)], dim=1))
    return graphs


def layer_of(schema: Schema) -> GATLayer:
    torch.manual_seed(0)
    layer = GATLayer(16, schema.edge_sizes)
    torch.nn.init.normal_(layer.convolution.bias)  # type: ignore[arg-type]
    return layer


def both_results(layer: GATLayer, batch: Batch, schema: Schema, weight: Tensor | None) -> list[dict[str, Tensor]]:
    """States, and the gradients of inputs, edge weights and parameters: by products, then by PyG."""
    results: list[dict[str, Tensor]] = []
    for undirected in (True, False):
        layer.zero_grad()
        h = torch.randn(batch.num_nodes, 16, generator=torch.Generator().manual_seed(1)).requires_grad_()
        own = None if weight is None else weight.clone().requires_grad_()
        edges = layer.edges(replace(batch, undirected=undirected), schema.edge_sizes, own)
        assert (edges.attention is not None) == undirected
        states = layer(h, edges)
        (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
        found: dict[str, Any] = {
            "states": states.detach(),
            "h": h.grad,
            **({} if own is None else {"weight": own.grad}),
        }
        found |= {name: parameter.grad for name, parameter in layer.named_parameters()}
        results.append(found)
    return results


@every_schema
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_products_equal_pygs_messages_in_value_and_gradient(schema: Schema, weighted: bool) -> None:
    batch = graphs_of(schema).batch()
    assert batch.undirected
    weight = torch.rand(batch.edge_index.shape[1], generator=torch.Generator().manual_seed(2)) if weighted else None
    products, messages = both_results(layer_of(schema), batch, schema, weight)
    assert products.keys() == messages.keys()
    for name, value in products.items():
        torch.testing.assert_close(value, messages[name], atol=1e-5, rtol=1e-5, msg=name)


@every_schema
def test_the_layer_is_pygs_gatconv(schema: Schema) -> None:
    batch, layer = graphs_of(schema).batch(), layer_of(schema)
    reference = GATConv(16, 4, heads=4, edge_dim=4 if schema.edge_sizes else None)
    reference.load_state_dict(layer.convolution.state_dict())
    h = torch.randn(batch.num_nodes, 16)
    embedded = None if layer.edge_embedding is None else layer.edge_embedding(batch.edge_attr)
    found = layer(h, layer.edges(batch, schema.edge_sizes, None))
    torch.testing.assert_close(found, reference(h, batch.edge_index, embedded), atol=1e-5, rtol=1e-5)


def test_gradients_are_those_of_finite_differences() -> None:
    batch, layer = graphs_of(NUMBERS).batch([1, 5]), layer_of(NUMBERS).double()
    h = torch.randn(batch.num_nodes, 16, dtype=torch.double, requires_grad=True)
    weight = torch.rand(batch.edge_index.shape[1], dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h, w: layer(h, layer.edges(batch, (), w)), (h, weight))


def test_scores_far_apart_leave_finite_states_and_gradients() -> None:
    batch, layer = graphs_of(TYPED).batch(), layer_of(TYPED)
    h = (1e4 * torch.randn(batch.num_nodes, 16)).requires_grad_()
    for weight in (None, torch.zeros(batch.edge_index.shape[1])):
        states = layer(h, layer.edges(batch, TYPED.edge_sizes, weight))
        states.sum().backward()
        assert states.isfinite().all()
        assert h.grad is not None
        assert h.grad.isfinite().all()


def test_a_batch_with_loops_is_left_to_pyg() -> None:
    batch, layer = graphs_of(NUMBERS).batch([2]), layer_of(NUMBERS)
    looped = replace(batch, edge_index=torch.zeros(2, 1, dtype=torch.long))
    h = torch.randn(1, 16)
    edges = layer.edges(looped, (), None)
    assert edges.attention is None
    torch.testing.assert_close(layer(h, edges), layer(h, layer.edges(batch, (), None)))


def test_an_explainers_masks_reach_the_messages() -> None:
    batch, layer = graphs_of(TYPED).batch(), layer_of(TYPED)
    h = torch.randn(batch.num_nodes, 16)
    edges = layer.edges(batch, TYPED.edge_sizes, None)
    before = layer(h, edges)
    mask = torch.nn.Parameter(torch.zeros(batch.edge_index.shape[1]))
    set_masks(layer, mask, batch.edge_index)
    masked = layer(h, edges)
    masked.square().sum().backward()
    assert (masked - before).abs().max() > 1e-3
    assert mask.grad is not None
    assert mask.grad.abs().max() > 0
    clear_masks(layer)
    torch.testing.assert_close(layer(h, edges), before)


MASKED = """
import torch
from torch_geometric.explain.algorithm.utils import set_masks
from torch_geometric.nn import GATConv, PNAConv
GATConv(4, 4), PNAConv(4, 4, ["mean"], ["identity"], torch.tensor([1]))  # PyG compiles the classes that ours are of
from graphfnp.networks.convolutions import LAYERS
from tiny_graphs import TYPED, shapes
batch = shapes(3).batch()
for name in ("gat", "pna"):
    layer = LAYERS[name](16, TYPED.edge_sizes)
    edges, h = layer.edges(batch, TYPED.edge_sizes, None), torch.randn(batch.num_nodes, 16)
    before = layer(h, edges)
    set_masks(layer, torch.nn.Parameter(torch.zeros(batch.edge_index.shape[1])), batch.edge_index)
    assert (layer(h, edges) - before).abs().max() > 1e-3, name
"""


def test_masks_reach_the_messages_where_layers_of_pyg_were_made_before() -> None:
    tests = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-W", "ignore", "-c", MASKED], check=True, cwd=tests)
