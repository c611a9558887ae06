"""Rationale F1 against scikit-learn's nearest neighbours and hand-worked votes."""

import pytest
import torch
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors

from graphfnp.errors import InvalidConfig
from graphfnp.metrics.rationale_f1 import rationale_f1, rationale_f1_of_chunks


def draws(num_classes: int = 2, num_draws: int = 40, num_graphs: int = 60, per_class: int = 5):
    """Graphs and rationales scattered around one direction for each class."""
    generator = torch.Generator().manual_seed(num_classes)
    y = torch.randint(0, num_classes, (num_graphs,), generator=generator)
    label = torch.arange(num_classes).repeat_interleave(per_class)
    centre = torch.randn(num_classes, 8, generator=generator)
    graphs = centre[y] + 2 * torch.randn(num_draws, num_graphs, 8, generator=generator)
    rationales = 5 * (centre[label] + torch.randn(num_draws, len(label), 8, generator=generator))
    return graphs, rationales, label, y


@pytest.mark.parametrize("neighbours", [1, 3])
def test_labels_are_those_of_a_cosine_neighbour_search(neighbours):
    graphs, rationales, label, y = draws(num_draws=5, num_graphs=500)  # few draws: each neighbour counts
    neighbour_labels = []
    for graph, rationale in zip(graphs, rationales, strict=True):
        search = NearestNeighbors(n_neighbors=neighbours, metric="cosine").fit(rationale)
        neighbour_labels.append(label[torch.from_numpy(search.kneighbors(graph, return_distance=False))])
    expected = (torch.stack(neighbour_labels).double().mean((0, 2)) > 0.5).long()
    score = rationale_f1(graphs, rationales, label, y, neighbours)
    assert torch.equal(score.label, expected)
    assert score.f1 == pytest.approx(f1_score(y, expected))
    assert score.macro_f1 == pytest.approx(f1_score(y, expected, average="macro"))
    assert score.constant_f1 == pytest.approx(f1_score(y, torch.ones_like(y)))


def test_always_saying_one_scores_69_percent_at_53_percent_prevalence():
    graphs, rationales, label, _ = draws(num_graphs=100)
    y = (torch.arange(100) < 53).long()
    assert rationale_f1(graphs, rationales, label, y).constant_f1 == pytest.approx(0.693, abs=5e-4)


def test_several_classes_are_scored_by_macro_f1():
    graphs, rationales, label, y = draws(num_classes=4)
    score = rationale_f1(graphs, rationales, label, y)
    assert score.f1 == score.macro_f1 == pytest.approx(f1_score(y, score.label, average="macro"))
    commonest = torch.full_like(y, int(torch.bincount(y).argmax()))
    assert score.constant_f1 == pytest.approx(f1_score(y, commonest, average="macro", zero_division=0))


def test_majority_over_draws_decides_not_one_draw():
    toward = torch.eye(2)
    graphs = toward[torch.tensor([0, 1, 1])].unsqueeze(1)  # one graph: nearest to rationale 0, 1, 1
    score = rationale_f1(graphs, toward.expand(3, 2, 2), torch.tensor([0, 1]), torch.tensor([1]))
    assert score.label.tolist() == [1]


def test_ties_go_to_the_lower_rationale_and_the_lower_class():
    nowhere = torch.zeros(1, 1, 2)
    rationales = torch.eye(2).unsqueeze(0)
    assert rationale_f1(nowhere, rationales, torch.tensor([1, 0]), torch.tensor([0])).label.tolist() == [1]
    assert rationale_f1(nowhere, rationales, torch.tensor([1, 0]), torch.tensor([0]), 2).label.tolist() == [0]


def test_chunks_give_the_same_score_as_all_draws_together():
    graphs, rationales, label, y = draws()
    chunks = ((graphs[i : i + 7], rationales[i : i + 7]) for i in range(0, 40, 7))
    streamed = rationale_f1_of_chunks(chunks, label, y, neighbours=3)
    together = rationale_f1(graphs, rationales, label, y, neighbours=3)
    assert torch.equal(streamed.label, together.label)
    assert streamed.f1 == together.f1


def test_lengths_of_the_vectors_do_not_matter():
    graphs, rationales, label, y = draws()
    factor = torch.linspace(0.1, 9, 10)[:, None]
    assert torch.equal(
        rationale_f1(graphs, rationales, label, y).label,
        rationale_f1(3 * graphs, factor * rationales, label, y).label,
    )


def test_unlabelled_graphs_are_left_out():
    graphs, rationales, label, y = draws()
    hidden = torch.where(torch.arange(60) < 10, -1, y)
    assert (
        rationale_f1(graphs, rationales, label, hidden).f1 == rationale_f1(graphs[:, 10:], rationales, label, y[10:]).f1
    )


def test_more_neighbours_than_rationales_is_refused():
    graphs, rationales, label, y = draws(per_class=1)
    with pytest.raises(InvalidConfig, match="3 neighbours of 2 rationales"):
        rationale_f1(graphs, rationales, label, y, neighbours=3)
