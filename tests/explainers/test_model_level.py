"""XGNN, GNNInterpreter and MAGE: graphs that a model is sure of, built by the rules."""

import pytest
import torch
from torch import nn

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.chemistry.structures import structure_to_smiles
from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.errors import InvalidConfig
from graphfnp.explainers.building_blocks import BuildingBlocks
from graphfnp.explainers.centroids import embedding_centroids
from graphfnp.explainers.gnn_interpreter import GNNInterpreterConfig, interpreter_rationales
from graphfnp.explainers.mage import MAGEConfig, mage_rationales
from graphfnp.explainers.xgnn import XGNNConfig, xgnn_rationales
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import collect
from tiny_graphs import NUMBERS, shapes, small

BRIEF = {
    xgnn_rationales: XGNNConfig(iterations=2, steps=6, rollouts=2),
    interpreter_rationales: GNNInterpreterConfig(steps=15, candidates=10),
    mage_rationales: MAGEConfig(attached=2, extensions=5),
}
every_generator = pytest.mark.parametrize("generate", BRIEF)


def classifier(graphs: PackedGraphs) -> nn.Module:
    return make_classifier("vanilla", graphs.schema, small("vanilla", **{"backbone.name": "gin"}))


def molecules() -> PackedGraphs:
    graphs, _, _ = graphs_from_smiles(["CCO", "CC(=O)N", "c1ccncc1", "C[N+](=O)[O-]", "CC#N", "CS(=O)(=O)C"])
    assert graphs is not None
    return graphs


@every_generator
@pytest.mark.parametrize("make", [molecules, lambda: shapes(9), lambda: generate_ba2motifs(6)])
def test_every_class_gets_graphs_and_the_model_stays_as_it_was(generate, make) -> None:
    graphs = make()
    model = classifier(graphs)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = generate(model, graphs, BRIEF[generate], per_class=2)
    assert found.label.bincount().tolist() == [2] * graphs.num_classes
    assert all(structure is not None and structure.num_nodes >= 1 for structure in found.structures)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(weight.requires_grad for weight in model.parameters())


@every_generator
def test_the_same_seed_gives_the_same_graphs(generate) -> None:
    graphs = shapes(9)
    model = classifier(graphs)
    first, second = (generate(model, graphs, BRIEF[generate], per_class=1, seed=4) for _ in range(2))
    assert [s.edges for s in first.structures] == [s.edges for s in second.structures]
    assert torch.equal(first.embedding, second.embedding)


@every_generator
def test_continuous_features_are_refused_with_a_way_out(generate) -> None:
    graphs = shapes(6, NUMBERS)
    with pytest.raises(InvalidConfig, match="discrete"):
        generate(classifier(graphs), graphs, BRIEF[generate])


def test_xgnn_writes_molecules_by_valence() -> None:
    graphs = molecules()
    found = xgnn_rationales(classifier(graphs), graphs, XGNNConfig(iterations=2, steps=10, rollouts=2), per_class=2)
    neutral = [
        s for s in found.structures if s and all(graphs.schema.node_types[t] in ("C", "N", "O") for t in s.node_type)
    ]
    assert neutral
    assert all(structure_to_smiles(structure, graphs.schema) for structure in neutral)


def test_room_is_the_valence_seen_in_training() -> None:
    graphs = molecules()
    blocks = BuildingBlocks.of(graphs)
    room = {graphs.schema.node_types[t]: int(r) for t, r in zip(blocks.node_type, blocks.room, strict=True)}
    # Hydrogens are not nodes, so a room is what the heavy neighbours took.
    assert room == {"C": 4, "O": 2, "N": 3, "N+": 4, "O-": 1, "S": 6}
    assert [graphs.schema.edge_types[k] for k in blocks.edge_rows[:, 0]] == ["single", "double", "triple"]


@every_generator
def test_generators_find_what_a_transparent_model_wants(generate) -> None:
    """A model that counts nodes of type d: class 0 wants none, class 1 wants many."""
    graphs = shapes(30)
    model = classifier(graphs)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        model.backbone.input.embedding.table[3, 0] = 1.0  # type d
        for layer in model.backbone.layers:
            linear = [part for part in layer.update if isinstance(part, nn.Linear)]
            for part in linear:
                part.weight.copy_(torch.eye(len(part.weight)))
        for norm in model.backbone.norms:
            norm.weight.fill_(1.0)
        linears = [part for part in model.head if isinstance(part, nn.Linear)]
        for part in linears[:-1]:
            part.weight.copy_(torch.eye(len(part.weight)))
        linears[-1].weight[1, 0], linears[-1].bias[0] = 4.0, 4.0
    config = XGNNConfig(iterations=4, steps=10, rollouts=2) if generate is xgnn_rationales else None
    found = generate(model, graphs, config, per_class=2)
    share = [sum(t == 3 for t in s.node_type) / s.num_nodes for s in found.structures]
    assert max(share[:2]) == 0.0
    assert min(share[2:4]) >= 0.5  # a quarter in the training graphs


def test_the_trivial_control_is_the_mean_of_each_class_where_it_has_one_centroid() -> None:
    graphs = shapes(12)
    model = classifier(graphs)
    found = embedding_centroids(model, graphs, per_class=1)
    embedding = collect(model, graphs).embedding
    assert found.label.tolist() == [0, 1, 2]
    torch.testing.assert_close(found.embedding, torch.stack([embedding[graphs.y == k].mean(0) for k in range(3)]))
