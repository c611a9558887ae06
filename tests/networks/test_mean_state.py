"""The mean state of a graph is the mean of its nodes' states, by whichever way it is computed."""

from dataclasses import replace

import pytest
import torch

from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.baselines.mc_dropout import ChannelDropout, dropping_units
from graphfnp.networks.backbone import Backbone, BackboneConfig
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.neighbourhood import mean_pool
from tiny_graphs import NUMBERS, TYPED, edges_of, packed

UNTYPED_EDGES = replace(TYPED, edge_sizes=(), edge_types=())


def batch_of(schema: Schema) -> Batch:
    """A ring, a path, a lone node, a star, a graph without edges, and one where some nodes have none."""
    ring, path, star = (edges_of(label, 6) for label in range(3))
    sizes_and_edges = [(6, ring), (6, path), (1, []), (6, star), (3, []), (5, [(1, 3)])]
    return next(packed(sizes_and_edges, [0, 1, 2, 2, 0, 1], schema).batches(8))


def backbone_of(schema: Schema = TYPED, layers: int = 3, batch_norm: bool = True, name: str = "gcn") -> Backbone:
    """With norms that have seen something and parameters that are not what they start as."""
    torch.manual_seed(0)
    backbone = Backbone(schema, BackboneConfig(name, layers, 16, batch_norm=batch_norm))  # type: ignore[arg-type]
    for parameter in backbone.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    for _ in range(3):
        backbone(batch_of(schema))
    return backbone.eval()


@torch.no_grad()
def both(backbone: Backbone, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    return mean_state(backbone, batch), mean_pool(backbone(batch), batch)


@pytest.mark.parametrize("schema", [TYPED, UNTYPED_EDGES, NUMBERS], ids=["typed", "untyped edges", "numbers"])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("batch_norm", [True, False], ids=["normed", "bare"])
@pytest.mark.parametrize("name", ["gcn", "gin"])
def test_it_is_the_mean_of_the_node_states(schema: Schema, layers: int, batch_norm: bool, name: str) -> None:
    found, expected = both(backbone_of(schema, layers, batch_norm, name), batch_of(schema))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_several_feature_columns() -> None:
    schema = replace(TYPED, node_sizes=(4, 2), features="molecule")
    graphs = packed([(4, [(0, 1), (1, 2)]), (1, []), (2, [(0, 1)])], [0, 1, 2])
    columns = torch.cat([graphs.x, graphs.x % 2], dim=1)
    graphs = PackedGraphs(**{**vars(graphs), "x": columns, "schema": schema})
    batch = next(graphs.batches(8))
    torch.manual_seed(0)
    backbone = Backbone(schema, BackboneConfig("gcn", 3, 16))
    backbone(batch)
    found, expected = both(backbone.eval(), batch)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_gcn_that_only_predicts_never_computes_the_node_states(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone, batch = backbone_of(), batch_of(TYPED)
    monkeypatch.setattr(Backbone, "forward", lambda *_: pytest.fail("all node states were computed"))
    with torch.no_grad():
        assert mean_state(backbone, batch).shape == (6, 16)


def test_gradients_reach_the_weights() -> None:
    backbone = backbone_of()
    mean_state(backbone, batch_of(TYPED)).sum().backward()
    assert all(parameter.grad is not None for parameter in backbone.parameters())


@torch.no_grad()
def test_who_watches_the_node_states_sees_them() -> None:
    backbone, seen = backbone_of(), []
    backbone.register_forward_hook(lambda _, __, states: seen.append(states))
    mean_state(backbone, batch_of(TYPED))
    assert len(seen) == 1


@torch.no_grad()
def test_a_dropout_that_works_in_predictions_is_heeded() -> None:
    backbone, batch = backbone_of(), batch_of(TYPED)
    backbone.dropout = ChannelDropout(0.5).eval()  # type: ignore[assignment]
    with dropping_units(backbone, lambda h: torch.rand(h.shape[-1])):
        assert not torch.equal(mean_state(backbone, batch), mean_state(backbone, batch))
