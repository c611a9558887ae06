"""Known answers of MC-Dropout."""

from dataclasses import replace

import pytest
import torch
from checks import close, new
from torch import Tensor
from torch_geometric.nn import GraphSAGE

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.registry import make_classifier
from tiny_graphs import TYPED, packed, small


def test_mc_dropout_draws_differ_and_their_mean_is_not_the_deterministic_pass(
    graphs: PackedGraphs, batch: Batch
) -> None:
    classifier = new("mc-dropout", graphs).eval()
    with torch.no_grad():
        draws = classifier.draw_logits(classifier.encode(batch), 30)
        deterministic = classifier.head(classifier.encode(batch).state.relu())
    assert len(draws.flatten(1).unique(dim=0)) == 30
    assert (draws.std(0) > 1e-4).all()
    assert (draws.mean(0) - deterministic).abs().max() > 1e-4
    assert (draws.mean(0) - deterministic).abs().max() < 5 * draws.std(0).max()


def test_a_draw_of_mc_dropout_is_one_thinned_network(graphs: PackedGraphs) -> None:
    """The same graph twice in a batch gets the same logits in a draw; in training it need not."""
    classifier, twice = new("mc-dropout", graphs, dropout=0.5), graphs.batch([3, 3])
    with torch.no_grad():
        draws = classifier.eval().draw_logits(classifier.encode(twice), 6)
        training = classifier.train().encode(twice).state
    assert torch.equal(draws[:, 0], draws[:, 1])
    assert not torch.allclose(training[0], training[1])


def test_nodes_of_a_graph_share_their_mask_in_training() -> None:
    alike = packed([(4, [])], [0])
    alike = replace(alike, x=torch.zeros_like(alike.x))
    classifier = new("mc-dropout", alike, dropout=0.5, **{"backbone.batch_norm": False, "backbone.layers": 3})
    states: list[Tensor] = []
    classifier.backbone.register_forward_hook(lambda module, inputs, output: states.append(output))
    classifier.train().encode(alike.batch())
    close(states[0].detach(), states[0][:1].expand(4, -1).detach())


def test_mc_dropout_also_thins_a_users_network(graphs: PackedGraphs, batch: Batch) -> None:
    module = GraphSAGE(12, 16, 2, 8, dropout=0.3)
    classifier = make_classifier("mc-dropout", TYPED, small("mc-dropout"), backbone=module).eval()
    assert not [part for part in classifier.modules() if isinstance(part, torch.nn.Dropout)]
    assert classifier.draw_logits(classifier.encode(batch), 3).std(0).max() > 0


def test_an_mc_dropout_that_would_draw_nothing_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="all draws agree"):
        make_classifier("mc-dropout", TYPED, {"dropout": 0.0})
