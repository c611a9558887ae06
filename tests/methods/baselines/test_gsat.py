"""Known answers of GSAT."""

from dataclasses import replace

import pytest
import torch
from checks import close, new
from torch import Tensor
from torch.distributions import Bernoulli, kl_divergence

from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.gsat import GSAT, bernoulli_kl
from tiny_graphs import NUMBERS, packed, shapes


def test_attention_is_the_same_in_both_directions(graphs: PackedGraphs, batch: Batch) -> None:
    classifier: GSAT = new("gsat", graphs).eval()
    attention = classifier.edge_attention(batch).detach()
    assert attention.shape == (batch.edge_index.shape[1],)
    assert attention.std() > 0
    at = {(int(u), int(v)): float(a) for (u, v), a in zip(batch.edge_index.T, attention, strict=True)}
    assert all(a == at[v, u] for (u, v), a in at.items())


class FixedAttention(torch.nn.Module):
    """Attends to the half of the edges whose ends differ most in their first channel, to the others not at all."""

    def forward(self, ends: Tensor) -> Tensor:
        apart = (ends[:, 0] - ends[:, ends.shape[1] // 2]).abs()
        return torch.where(apart > apart.median(), 200.0, -200.0).unsqueeze(1)


def test_an_edge_of_attention_zero_might_as_well_not_be_there() -> None:
    graphs = shapes(9, NUMBERS)
    classifier: GSAT = new("gsat", graphs, **{"backbone.name": "gin"}).eval()
    classifier.attention = FixedAttention()  # type: ignore[assignment]
    batch = graphs.batch()
    kept = classifier.edge_attention(batch) > 0.5
    assert 0 < kept.sum() < len(kept)
    fewer = replace(batch, edge_index=batch.edge_index[:, kept])
    vanilla = new("vanilla", graphs, **{"backbone.name": "gin"}).eval()
    vanilla.load_state_dict({k: v for k, v in classifier.state_dict().items() if not k.startswith("attention")})
    close(classifier.embed(classifier.encode(batch)).detach(), vanilla.embed(vanilla.encode(fewer)).detach())


def test_attention_is_drawn_in_training_and_its_mean_is_taken_in_prediction(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("gsat", graphs, **{"backbone.batch_norm": False})
    with torch.no_grad():
        assert not torch.allclose(*(classifier.train().embed(classifier.encode(batch)) for _ in range(2)))
        assert torch.equal(*(classifier.eval().embed(classifier.encode(batch)) for _ in range(2)))


def test_information_is_the_divergence_from_the_prior() -> None:
    p = torch.tensor([0.02, 0.5, 0.7, 0.99])
    close(bernoulli_kl(torch.logit(p), 0.7), kl_divergence(Bernoulli(p), Bernoulli(torch.tensor(0.7))))
    close(bernoulli_kl(torch.logit(torch.tensor([0.7])), 0.7), [0.0])


def test_the_prior_goes_down_by_a_tenth_every_ten_epochs_to_its_floor(graphs: PackedGraphs) -> None:
    classifier = new("gsat", graphs)
    seen = []
    for epoch in (0, 9, 10, 19, 20, 30, 59):
        classifier.start_epoch(epoch, 60, graphs)
        seen.append(classifier.prior)
    assert seen == pytest.approx([0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.7])


@pytest.mark.parametrize("backbone", ["gat", "pna", "sage"])
def test_attention_learns_through_other_backbones(backbone: str, graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("gsat", graphs, **{"backbone.name": backbone})
    classifier.loss(classifier.encode(batch))["data"].backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in classifier.attention.parameters())


def test_graphs_without_edges_have_no_information_to_pay_for(graphs: PackedGraphs) -> None:
    lonely = packed([(1, []), (2, [])], [0, 1]).batch()
    classifier = new("gsat", graphs)
    assert classifier.loss(classifier.encode(lonely))["information"] == 0
