"""Known answers of ProtGNN."""

from math import log

import pytest
import torch
from checks import close, new

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.protgnn import prototype_rationales
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.baselines.protgnn import (
    EPSILON,
    ProtGNN,
    diversity_cost,
    nearest,
    similarity,
    squared_distance,
)
from tiny_graphs import NUMBERS, TYPED, shapes


def test_similarity_is_the_largest_at_the_prototype_and_nothing_far_away() -> None:
    distance = squared_distance(torch.tensor([[1.0, 2.0], [4.0, 6.0]]), torch.tensor([[1.0, 2.0], [1.0, 3.0]]))
    close(distance, [[0.0, 1.0], [25.0, 18.0]])
    close(similarity(distance[0]), [log(1 / EPSILON), log(2 / (1 + EPSILON))], 1e-4)
    assert similarity(torch.tensor(1e9)) == pytest.approx(0, abs=1e-5)


def test_logits_begin_as_own_similarities_less_half_of_the_others(graphs: PackedGraphs, batch: Batch) -> None:
    classifier: ProtGNN = new("protgnn", graphs, prototypes_per_class=2).eval()
    with torch.no_grad():
        encoded = classifier.encode(batch)
        near = similarity(squared_distance(encoded.state, classifier.prototype)).view(-1, 3, 2).sum(-1)
        expected = 1.5 * near - 0.5 * near.sum(-1, keepdim=True)
        close(classifier.draw_logits(encoded, 4), expected.expand(4, -1, -1))


def test_costs_are_those_of_the_nearest_prototype_of_the_own_and_of_another_class(graphs: PackedGraphs) -> None:
    classifier: ProtGNN = new("protgnn", graphs, cluster_weight=1.0, separation_weight=10.0).eval()
    batch = graphs.batch([0, 1, 2])
    encoded = classifier.encode(batch)
    distance = squared_distance(encoded.state, classifier.prototype).detach().view(3, 3, 5).amin(-1)  # graph, class
    own = distance.diagonal()
    other = distance.masked_fill(torch.eye(3, dtype=torch.bool), torch.inf).amin(1)
    terms = classifier.loss(encoded)
    close(terms["cluster"].detach(), own.mean(), 1e-4)
    close(terms["separation"].detach(), -10 * other.mean(), 1e-3)
    close(nearest(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[False, True, True]])), [2.0])


def test_prototypes_of_one_class_pay_for_a_cosine_above_three_tenths() -> None:
    prototype = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 3.0], [1.0, 0.0]])
    label = torch.tensor([0, 0, 0, 1])
    # Pairs (0, 2) and (1, 2) at 45 degrees, each twice; (0, 1) at a right angle; (0, 3) alike, but of two classes.
    close(diversity_cost(prototype, label), 4 * (0.5**0.5 - 0.3))


def test_prototypes_start_at_the_means_of_their_class(graphs: PackedGraphs) -> None:
    classifier: ProtGNN = new("protgnn", graphs, prototypes_per_class=1)
    classifier.start_epoch(0, 30, graphs)
    state = classifier.states(graphs)
    close(classifier.prototype.detach(), torch.stack([state[graphs.y == k].mean(0) for k in range(3)]))


@pytest.mark.parametrize("schema", [TYPED, NUMBERS])
def test_a_projected_prototype_is_a_connected_part_of_a_training_graph_of_its_class(schema) -> None:
    graphs = shapes(24, schema, least=12)
    classifier: ProtGNN = new("protgnn", graphs)
    classifier.place(graphs)
    placed = classifier.prototype.detach().clone()
    classifier.project(graphs)
    found = prototype_rationales(classifier, graphs)
    assert not torch.equal(found.embedding, placed)
    assert (graphs.y[classifier.origin[:, 0]] == found.label).all()
    for structure in found.structures:
        assert structure is not None
        assert 5 <= structure.num_nodes <= 10
        assert len(structure.edges) >= structure.num_nodes - 1


def test_prototypes_have_no_structure_in_graphs_that_the_model_did_not_learn_from() -> None:
    graphs, others = shapes(24, least=12), shapes(24, seed=9, least=12)
    classifier: ProtGNN = new("protgnn", graphs)
    classifier.project(graphs)
    assert set(prototype_rationales(classifier, others).structures) == {None}
    assert None in prototype_rationales(classifier, graphs.select([0])).structures  # most are of other graphs


def test_prototypes_are_projected_from_a_third_of_training_on(graphs: PackedGraphs) -> None:
    classifier: ProtGNN = new("protgnn", graphs)
    projected = []
    for epoch in range(30):
        classifier.origin.fill_(-1)
        classifier.start_epoch(epoch, 30, graphs)
        if (classifier.origin[:, 0] >= 0).all():
            projected.append(epoch)
    assert projected == [10, 15, 20, 25]


def test_only_protgnn_has_prototypes(graphs: PackedGraphs) -> None:
    with pytest.raises(InvalidConfig, match="train with --method protgnn"):
        prototype_rationales(new("vanilla", graphs), graphs)
    with pytest.raises(InvalidConfig, match="prototypes_per_class=0"):
        new("protgnn", graphs, prototypes_per_class=0)
