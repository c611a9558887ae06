"""Known answers of the deep ensemble."""

import torch
from checks import close, new
from torch_geometric.nn import GraphSAGE

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.deep_ensemble import DeepEnsemble
from graphfnp.methods.registry import make_classifier
from tiny_graphs import TYPED, small


def test_members_start_apart_and_draws_walk_round_them(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("deep-ensemble", graphs).eval()
    with torch.no_grad():
        one_each, more, fewer = (classifier.draw_logits(classifier.encode(batch), count) for count in (5, 12, 2))
    assert len(one_each.flatten(1).unique(dim=0)) == 5
    assert torch.equal(more, one_each[torch.arange(12) % 5])
    assert torch.equal(fewer, one_each[:2])
    assert classifier.embed(classifier.encode(batch)).shape == (12, 5 * 16)


def test_members_of_a_users_network_start_apart(batch: Batch) -> None:
    classifier = make_classifier("deep-ensemble", TYPED, small("deep-ensemble"), backbone=GraphSAGE(12, 16, 2, 8))
    states = classifier.encode(batch).state
    assert len(states.flatten(1).unique(dim=0)) == 5


def steps(classifier: DeepEnsemble, parameters: list, terms: list[int], batch: Batch, count: int = 4) -> None:
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(count):
        losses = list(classifier.loss(classifier.encode(batch)).values())
        optimizer.zero_grad()
        torch.stack([losses[term] for term in terms]).sum().backward()
        optimizer.step()


def test_a_step_of_one_member_does_not_move_another(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("deep-ensemble", graphs, members=2)
    before = [[p.detach().clone() for p in member.parameters()] for member in classifier.members]
    steps(classifier, list(classifier.parameters()), [0], batch, 1)
    moved = [
        any(not torch.equal(p, old) for p, old in zip(member.parameters(), kept, strict=True))
        for member, kept in zip(classifier.members, before, strict=True)
    ]
    assert moved == [True, False]


def test_descending_the_sum_of_losses_is_training_each_member_alone(graphs: PackedGraphs, batch: Batch) -> None:
    together, alone = (new("deep-ensemble", graphs, members=2) for _ in range(2))
    steps(together, list(together.parameters()), [0, 1], batch)
    for number, member in enumerate(alone.members):
        steps(alone, list(member.parameters()), [number], batch)
    for ours, theirs in zip(together.parameters(), alone.parameters(), strict=True):
        close(ours.detach(), theirs.detach(), 1e-6)
