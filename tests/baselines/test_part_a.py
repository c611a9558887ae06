"""Known answers of DropEdge, MC-Dropout, DeepEnsemble, GSAT, focal loss and the evidential head."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import Bernoulli, Dirichlet, kl_divergence
from torch_geometric.nn import GraphSAGE

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.deep_ensemble import DeepEnsemble
from graphfnp.methods.baselines.dropedge import thinned as without_edges
from graphfnp.methods.baselines.evidential import Evidential, kl_to_uniform, log_gamma_draws
from graphfnp.methods.baselines.focal import focal_loss
from graphfnp.methods.baselines.gsat import GSAT, bernoulli_kl
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.draws import normal_draws
from graphfnp.networks.edge_pairs import pair_mean, pair_numbers
from tiny_graphs import NUMBERS, TYPED, packed, shapes, small


def new(method: str, graphs: PackedGraphs, **settings: Any) -> Any:
    return make_classifier(method, graphs.schema, small(method, **settings))


def close(given: Tensor, expected: Any, tolerance: float = 1e-5) -> None:
    expected = torch.as_tensor(expected, dtype=given.dtype)
    torch.testing.assert_close(given, expected, atol=tolerance, rtol=0)


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    return shapes(12)


@pytest.fixture(scope="module")
def batch(graphs: PackedGraphs) -> Batch:
    return graphs.batch()


def random_logits(rows: int = 7) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return 3 * torch.randn(rows, 3, generator=generator), torch.randint(3, (rows,), generator=generator)


# ---------------------------------------------------------------- undirected edges


def test_two_directions_of_an_edge_have_one_number_and_a_lone_direction_its_own() -> None:
    both = packed([(3, [(0, 1), (1, 2)])], [0]).batch()
    pair, count = pair_numbers(replace(both, edge_index=torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 1, 2]])))
    assert count == 3
    assert pair[0] == pair[1]
    assert pair[2] == pair[3]
    assert len(pair.unique()) == 3
    close(pair_mean(torch.tensor([1.0, 3.0, 5.0, 5.0, 9.0]), pair, count)[pair], [2, 2, 5, 5, 9])


# ---------------------------------------------------------------- DropEdge


def test_edges_go_in_both_directions_together_and_about_as_often_as_said(motifs: PackedGraphs) -> None:
    batch = motifs.batch()
    torch.manual_seed(0)
    fewer = without_edges(batch, 0.3)
    present = {(int(u), int(v)) for u, v in fewer.edge_index.T}
    assert present == {(v, u) for u, v in present}
    assert fewer.edge_index.shape[1] / batch.edge_index.shape[1] == pytest.approx(0.7, abs=0.05)
    assert torch.equal(fewer.x, batch.x)


def test_a_kept_edge_keeps_its_type(batch: Batch) -> None:
    torch.manual_seed(0)
    fewer = without_edges(batch, 0.5)

    def typed(part: Batch) -> set[tuple[int, ...]]:
        assert part.edge_attr is not None
        return {tuple(row) for row in torch.cat([part.edge_index.T, part.edge_attr], dim=1).tolist()}

    assert typed(fewer) < typed(batch)


def test_dropedge_drops_in_training_only(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("dropedge", graphs, edge_dropout=0.5, **{"backbone.batch_norm": False})
    with torch.no_grad():
        training = [classifier.train().encode(batch) for _ in range(2)]
        predicting = [classifier.eval().encode(batch) for _ in range(2)]
    assert not torch.allclose(*training)
    assert torch.equal(*predicting)
    vanilla = new("vanilla", graphs, **{"backbone.batch_norm": False}).eval()
    vanilla.load_state_dict(classifier.state_dict())
    close(predicting[0], vanilla.encode(batch).detach())


# ---------------------------------------------------------------- MC-Dropout


def test_mc_dropout_draws_differ_and_their_mean_is_not_the_deterministic_pass(
    graphs: PackedGraphs, batch: Batch
) -> None:
    classifier = new("mc-dropout", graphs).eval()
    with torch.no_grad():
        draws = classifier.draw_logits(batch, 30)
        deterministic = classifier.head(classifier.encode(batch).relu())
    assert len(draws.flatten(1).unique(dim=0)) == 30
    assert (draws.std(0) > 1e-4).all()
    assert (draws.mean(0) - deterministic).abs().max() > 1e-4
    assert (draws.mean(0) - deterministic).abs().max() < 5 * draws.std(0).max()


def test_a_draw_of_mc_dropout_is_one_thinned_network(graphs: PackedGraphs) -> None:
    """The same graph twice in a batch gets the same logits in a draw; in training it need not."""
    classifier, twice = new("mc-dropout", graphs, dropout=0.5), graphs.batch([3, 3])
    with torch.no_grad():
        draws = classifier.eval().draw_logits(twice, 6)
        training = classifier.train().encode(twice)
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
    assert classifier.draw_logits(batch, 3).std(0).max() > 0


def test_an_mc_dropout_that_would_draw_nothing_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="all draws agree"):
        make_classifier("mc-dropout", TYPED, {"dropout": 0.0})


# ---------------------------------------------------------------- DeepEnsemble


def test_members_start_apart_and_draws_walk_round_them(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("deep-ensemble", graphs).eval()
    with torch.no_grad():
        one_each, more, fewer = (classifier.draw_logits(batch, count) for count in (5, 12, 2))
    assert len(one_each.flatten(1).unique(dim=0)) == 5
    assert torch.equal(more, one_each[torch.arange(12) % 5])
    assert torch.equal(fewer, one_each[:2])
    assert classifier.embed(batch).shape == (12, 5 * 16)


def test_members_of_a_users_network_start_apart(batch: Batch) -> None:
    classifier = make_classifier("deep-ensemble", TYPED, small("deep-ensemble"), backbone=GraphSAGE(12, 16, 2, 8))
    states = classifier.encode(batch)
    assert len(states.flatten(1).unique(dim=0)) == 5


def steps(classifier: DeepEnsemble, parameters: list, terms: list[int], batch: Batch, count: int = 4) -> None:
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    for _ in range(count):
        losses = list(classifier.loss(batch, classifier.encode(batch)).values())
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


# ---------------------------------------------------------------- GSAT


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
    close(classifier.embed(batch).detach(), vanilla.embed(fewer).detach())


def test_attention_is_drawn_in_training_and_its_mean_is_taken_in_prediction(graphs: PackedGraphs, batch: Batch) -> None:
    classifier = new("gsat", graphs, **{"backbone.batch_norm": False})
    with torch.no_grad():
        assert not torch.allclose(*(classifier.train().embed(batch) for _ in range(2)))
        assert torch.equal(*(classifier.eval().embed(batch) for _ in range(2)))


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
    classifier.loss(batch, classifier.encode(batch))["data"].backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in classifier.attention.parameters())


def test_graphs_without_edges_have_no_information_to_pay_for(graphs: PackedGraphs) -> None:
    lonely = packed([(1, []), (2, [])], [0, 1]).batch()
    classifier = new("gsat", graphs)
    assert classifier.loss(lonely, classifier.encode(lonely))["information"] == 0


# ---------------------------------------------------------------- focal loss


def test_focal_loss_without_focus_is_cross_entropy(graphs: PackedGraphs, batch: Batch) -> None:
    logits, y = random_logits()
    close(focal_loss(logits, y, 0.0), torch.nn.functional.cross_entropy(logits, y, reduction="none"))
    focal, vanilla = new("focal", graphs, gamma=0.0), new("vanilla", graphs)
    weight = torch.tensor([0.5, 1.0, 1.5])
    for classifier in (focal, vanilla):
        classifier.class_weight.copy_(weight)
    losses = [classifier.loss(batch, classifier.encode(batch))["data"].detach() for classifier in (focal, vanilla)]
    close(losses[0], losses[1])


def test_focal_loss_by_hand() -> None:
    logits = torch.tensor([[0.75, 0.25], [0.75, 0.25]]).log()
    expected = [0.25**2 * -torch.tensor(0.75).log(), 0.75**2 * -torch.tensor(0.25).log()]
    close(focal_loss(logits, torch.tensor([0, 1]), 2.0), torch.stack(expected))


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_focal_loss_of_a_sure_prediction_has_a_finite_slope(gamma: float) -> None:
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    focal_loss(logits, torch.tensor([0]), gamma).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


# ---------------------------------------------------------------- evidential


def with_alpha(alpha: list[float]) -> Evidential:
    """A classifier that says this for every graph: softplus(log(exp(e) - 1)) = e."""
    classifier = make_classifier("evidential", TYPED, small("evidential")).eval()
    assert isinstance(classifier, Evidential)
    last = classifier.head[-1]
    last.weight.data.zero_()  # type: ignore[operator]
    last.bias.data.copy_((torch.tensor(alpha) - 1).expm1().log())  # type: ignore[operator]
    return classifier


def test_mean_and_vacuity_by_hand(batch: Batch) -> None:
    classifier = with_alpha([2.0, 3.0, 5.0])
    close(classifier.draw_logits(batch, 1)[0, 0].softmax(-1).detach(), [0.2, 0.3, 0.5])
    close(classifier.distance(batch).detach(), torch.full((12,), 0.3))


@pytest.mark.parametrize("alpha", [[2.0, 3.0, 5.0], [1.01, 1.01, 1.01], [1.01, 1.01, 40.0]])
def test_draws_are_those_of_the_dirichlet(alpha: list[float], batch: Batch) -> None:
    draws = with_alpha(alpha).draw_logits(batch, 4096)[:, 0].softmax(-1).detach()
    expected = Dirichlet(torch.tensor(alpha))
    close(draws.mean(0), expected.mean, 0.005)
    close(draws.std(0), expected.stddev, 0.01)


def test_few_draws_already_have_nearly_the_right_mean(batch: Batch) -> None:
    for alpha in ([1.01, 1.01, 1.01], [3.0, 1.5, 1.2]):
        draws = with_alpha(alpha).draw_logits(batch, 32)[:, 0].softmax(-1).detach()
        close(draws.mean(0), torch.tensor(alpha) / sum(alpha), 0.03)


def test_gamma_quantiles_are_near_the_true_ones() -> None:
    alpha, noise = torch.tensor([1.0, 3.0, 20.0]), normal_draws(64, 1, 0, "gamma")
    share = torch.special.gammainc(alpha.expand(64, -1), log_gamma_draws(alpha, noise).exp())
    close(share, torch.special.ndtr(noise).expand(-1, 3), 0.015)


def test_divergence_from_the_uniform_dirichlet() -> None:
    alpha = torch.tensor([[1.0, 1.0, 1.0], [2.0, 3.0, 5.0], [1.0, 1.0, 30.0]])
    close(kl_to_uniform(alpha), kl_divergence(Dirichlet(alpha), Dirichlet(torch.ones_like(alpha))), 1e-4)


def test_evidential_loss_is_the_expected_cross_entropy_and_a_pull_on_misleading_evidence(batch: Batch) -> None:
    classifier = with_alpha([2.0, 3.0, 5.0])
    graph = batch.select(torch.tensor([2]))  # a star: class 2
    classifier.start_epoch(5, 60, shapes(3))
    terms = classifier.loss(graph, classifier.encode(graph))
    # psi(10) - psi(5) = 1/5 + 1/6 + 1/7 + 1/8 + 1/9
    close(terms["data"].detach(), 1 / 5 + 1 / 6 + 1 / 7 + 1 / 8 + 1 / 9)
    pull = kl_divergence(Dirichlet(torch.tensor([2.0, 3.0, 1.0])), Dirichlet(torch.ones(3)))
    close(terms["prior"].detach(), 0.5 * pull)
    classifier.start_epoch(0, 60, shapes(3))
    assert classifier.loss(graph, classifier.encode(graph))["prior"] == 0
