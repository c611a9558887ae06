"""What every classifier promises, checked for each entry of CLASSIFIERS."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer, ModelConfig
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import GraphClassifier, check_partition
from graphfnp.methods.registry import CLASSIFIERS, make_classifier
from graphfnp.networks.convolutions import LAYERS
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.saving import save_model
from graphfnp.runs.checkpoint import load_model
from graphfnp.training.train import train
from tiny_graphs import NUMBERS, TINY_TRAINING, TYPED, relabelled, shapes, small

every_method = pytest.mark.parametrize("method", CLASSIFIERS)
every_network = pytest.mark.parametrize("method", [name for name in CLASSIFIERS if name != "forest"])

trained: dict[str, TrainedModel] = {}


def model_of(method: str) -> TrainedModel:
    """A small model that has taken a few steps on three classes with node and edge types."""
    if method not in trained:
        graphs = shapes(48)
        classifier = make_classifier(method, graphs.schema, small(method))
        trained[method] = train(classifier, graphs, graphs, TINY_TRAINING).model
    return trained[method]


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    return shapes(13, seed=5)


def probabilities(model: TrainedModel, graphs: PackedGraphs, **how) -> torch.Tensor:
    return predict(model, graphs, 8, **how).draws


def assert_same(given: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(given, expected, atol=tolerance, rtol=0)


# ---------------------------------------------------------------- predictions


@every_method
def test_shapes_are_those_of_the_contract(method: str, graphs: PackedGraphs) -> None:
    classifier, batch = model_of(method).classifier, graphs.batch()
    encoded = classifier.encode(batch)
    assert encoded.batch.y is batch.y
    assert classifier.draw_logits(encoded, 5).shape == (5, 13, 3)
    dims = classifier.embed(encoded).shape[1]
    assert classifier.embed(encoded).shape == (13, dims)
    assert classifier.forward(batch.x, batch.edge_index, batch.batch, batch.edge_attr).shape == (13, 3)
    distance, model = classifier.distance(encoded), classifier.rationale_model
    if model is not None:
        rationales = model.rationales()
        assert rationales.label.bincount().tolist() == [2, 2, 2]
        assert model.embedding_draws(encoded, 5).shape == (5, 13, dims)
        assert model.rationale_draws(5).shape == (5, len(rationales), dims)
        assert model.mean_correlation(encoded, 5).shape == (13, len(rationales))
        assert model.correlation_probability(encoded).shape == (13, len(rationales))
        assert model.node_correlation(batch).shape == (batch.num_nodes, len(rationales))
    if distance is not None:
        assert distance.shape == (13,)
        assert ((distance >= 0) & (distance <= 1)).all()


@every_method
def test_probabilities_of_every_draw_sum_to_one(method: str, graphs: PackedGraphs) -> None:
    draws = probabilities(model_of(method), graphs)
    assert draws.shape == (8, 13, 3)
    assert (draws >= 0).all()
    assert_same(draws.sum(-1), torch.ones(8, 13))


@every_method
def test_the_same_seed_gives_the_same_draws(method: str, graphs: PackedGraphs) -> None:
    model = model_of(method)
    first = probabilities(model, graphs, seed=3)
    torch.rand(7)
    assert torch.equal(probabilities(model, graphs, seed=3), first)


@every_method
def test_work_shared_by_draws_changes_nothing(method: str, graphs: PackedGraphs) -> None:
    classifier, batch = model_of(method).classifier, graphs.batch()
    with torch.no_grad():
        encoded = classifier.encode(batch)
        classifier.draw_logits(encoded, 2), classifier.distance(encoded)
        assert_same(classifier.draw_logits(encoded, 4), classifier.draw_logits(classifier.encode(batch), 4), 1e-6)


@every_method
def test_batch_size_does_not_change_a_prediction(method: str, graphs: PackedGraphs) -> None:
    model = model_of(method)
    assert_same(probabilities(model, graphs, batch_size=1), probabilities(model, graphs))
    assert_same(probabilities(model, graphs, batch_size=4), probabilities(model, graphs))


@every_method
def test_order_of_graphs_does_not_change_a_prediction(method: str, graphs: PackedGraphs) -> None:
    model, order = model_of(method), torch.randperm(13, generator=torch.Generator().manual_seed(0))
    assert_same(probabilities(model, graphs.select(order)), probabilities(model, graphs)[:, order])


@every_method
def test_numbering_of_nodes_does_not_change_a_prediction(method: str, graphs: PackedGraphs) -> None:
    model = model_of(method)
    assert_same(probabilities(model, relabelled(graphs)), probabilities(model, graphs))


@every_method
def test_prediction_leaves_the_model_and_the_random_stream_as_they_were(method: str, graphs: PackedGraphs) -> None:
    model = model_of(method)
    model.classifier.train()
    before = {name: tensor.clone() for name, tensor in model.classifier.state_dict().items()}
    state = torch.random.get_rng_state()
    probabilities(model, graphs)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.classifier.training
    assert all(torch.equal(before[name], tensor) for name, tensor in model.classifier.state_dict().items())
    model.classifier.eval()


@every_method
def test_edge_types_reach_the_model(method: str, graphs: PackedGraphs) -> None:
    classifier = model_of(method).classifier.eval()
    assert graphs.edge_attr is not None
    other = replace(graphs, edge_attr=(graphs.edge_attr + 1) % 3)
    with torch.no_grad():  # logits: after two epochs the fitted temperature makes all probabilities nearly equal
        seen, changed = (classifier.draw_logits(classifier.encode(each.batch()), 8) for each in (graphs, other))
        moved = changed - seen
    assert moved.abs().max() > 1e-4


@every_method
def test_one_node_without_edges_and_a_graph_without_edges_are_predicted(method: str) -> None:
    lonely = PackedGraphs.build(
        x=torch.tensor([[0], [1], [2]]),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        node_ptr=torch.tensor([0, 1, 3]),
        edge_ptr=torch.tensor([0, 0, 0]),
        y=torch.tensor([0, 1]),
        schema=TYPED,
        edge_attr=torch.zeros(0, 1, dtype=torch.long),
        node_type=torch.tensor([0, 1, 2]),
    )
    draws = probabilities(model_of(method), lonely)
    assert draws.isfinite().all()
    assert_same(draws.sum(-1), torch.ones(8, 2))


@every_method
def test_training_takes_graphs_of_one_node_and_a_batch_of_one_graph(method: str) -> None:
    mixed = shapes(17, NUMBERS, least=1)
    classifier = make_classifier(method, NUMBERS, small(method))
    model = train(classifier, mixed, mixed, TINY_TRAINING).model  # batches of sixteen graphs and of one
    assert probabilities(model, mixed).isfinite().all()


# ---------------------------------------------------------------- files and phases


@every_method
def test_a_saved_model_predicts_the_same(method: str, graphs: PackedGraphs, tmp_path: Path) -> None:
    model = model_of(method)
    save_model(model, tmp_path, method)
    loaded = load_model(tmp_path)
    assert torch.equal(probabilities(loaded, graphs), probabilities(model, graphs))
    assert loaded.calibration == model.calibration
    assert loaded.classifier.config == model.classifier.config


@every_method
def test_phases_partition_the_parameters(method: str) -> None:
    classifier = make_classifier(method, TYPED, small(method))
    check_partition(classifier, classifier.phases())
    held = {id(p) for phase in classifier.phases() for p in phase.parameters}
    assert held == {id(p) for p in classifier.parameters()}


@pytest.mark.parametrize("ablation", ["z_D", "C", "z_R", "EM"])
@pytest.mark.parametrize("method", ["graphfnp", "paper"])
def test_phases_partition_the_parameters_in_every_ablation(method: str, ablation: str) -> None:
    classifier = make_classifier(method, TYPED, small(method, ablation=ablation))
    check_partition(classifier, classifier.phases())


@pytest.mark.parametrize("method", ["graphfnp", "paper"])
def test_without_rationales_a_model_has_neither_them_nor_a_distance(method: str) -> None:
    classifier = make_classifier(method, TYPED, small(method, ablation="z_R"))
    batch = shapes(4).batch()
    assert classifier.rationale_model is None
    assert classifier.distance(classifier.encode(batch)) is None
    assert classifier.diagnostics(batch) == {}


def test_phases_that_overlap_or_leave_out_a_parameter_are_refused() -> None:
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    (phase,) = classifier.phases()
    with pytest.raises(InvalidConfig, match="in phases all and all"):
        check_partition(classifier, [phase, phase])
    with pytest.raises(InvalidConfig, match="in no phase"):
        check_partition(classifier, [replace(phase, parameters=phase.parameters[1:])])


@every_method
def test_a_phase_moves_its_own_parameters_only(method: str) -> None:
    graphs = shapes(16)
    classifier = make_classifier(method, TYPED, small(method))
    classifier.start_epoch(5, 6, graphs)
    batch = graphs.batch()
    for phase in classifier.phases():
        classifier.zero_grad()
        terms = phase.loss(classifier.encode(batch))
        torch.stack(list(terms.values())).sum().backward(inputs=phase.parameters)
        own = {id(p) for p in phase.parameters}
        assert all(p.grad is None for p in classifier.parameters() if id(p) not in own)
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in phase.parameters)


# ---------------------------------------------------------------- explanations


def explained(classifier: GraphClassifier, batch: PyGBatch) -> torch.Tensor:
    explainer = Explainer(
        classifier,
        GNNExplainer(epochs=5),
        explanation_type="model",
        edge_mask_type="object",
        model_config=ModelConfig(mode="multiclass_classification", task_level="graph", return_type="log_probs"),
    )
    torch.manual_seed(0)
    return explainer(batch.x, batch.edge_index, batch=batch.batch, edge_attr=batch.edge_attr).edge_mask


@every_network
def test_gnn_explainer_explains_any_classifier(method: str, graphs: PackedGraphs) -> None:
    classifier, batch = model_of(method).classifier.eval(), graphs.batch([0, 1])
    before = classifier(batch.x, batch.edge_index, batch.batch, batch.edge_attr)
    data = PyGBatch(x=batch.x, edge_index=batch.edge_index, batch=batch.batch, edge_attr=batch.edge_attr)
    mask = explained(classifier, data)
    assert mask.shape == (batch.edge_index.shape[1],)
    assert ((mask >= 0) & (mask <= 1)).all()
    assert_same(classifier(batch.x, batch.edge_index, batch.batch, batch.edge_attr), before, 1e-6)


@every_network
def test_every_edge_mask_has_a_gradient(method: str, graphs: PackedGraphs) -> None:
    classifier, batch = model_of(method).classifier.eval(), graphs.batch([0, 1])
    mask = torch.nn.Parameter(torch.full((batch.edge_index.shape[1],), 0.5))
    set_masks(classifier, mask, batch.edge_index, apply_sigmoid=False)
    score = classifier(batch.x, batch.edge_index, batch.batch, batch.edge_attr)[:, 0].sum()
    clear_masks(classifier)
    (gradient,) = torch.autograd.grad(score, mask)
    assert (gradient != 0).all()


@pytest.mark.parametrize("backbone", LAYERS)
def test_edge_masks_of_one_change_nothing_and_masks_of_zero_do(backbone: str, motifs: PackedGraphs) -> None:
    classifier = make_classifier("vanilla", motifs.schema, small("vanilla", **{"backbone.name": backbone})).eval()
    batch = motifs.batch([0, 20])

    def masked(value: float) -> torch.Tensor:
        mask = torch.full((batch.edge_index.shape[1],), value)
        set_masks(classifier, mask, batch.edge_index, apply_sigmoid=False)
        seen = classifier(batch.x, batch.edge_index, batch.batch)
        clear_masks(classifier)
        return seen

    plain = classifier(batch.x, batch.edge_index, batch.batch)
    assert_same(masked(1.0), plain, 1e-6)
    assert (masked(0.0) - plain).abs().max() > 1e-4


@every_method
def test_the_fused_product_and_edge_by_edge_messages_agree(method: str, graphs: PackedGraphs) -> None:
    """``forward`` is what explainers see: it must be the model that predicts."""
    classifier, batch = model_of(method).classifier.eval(), graphs.batch()
    with torch.no_grad():
        draws = classifier.draw_logits(classifier.encode(batch), 16).softmax(-1).mean(0).log()
        seen = classifier(batch.x, batch.edge_index, batch.batch, batch.edge_attr)
    assert_same(seen, draws, 1e-4)


def test_pyg_data_of_one_graph_needs_no_batch_vector() -> None:
    graphs = generate_ba2motifs(2)
    classifier = make_classifier("vanilla", graphs.schema, small("vanilla")).eval()
    data = Data(x=graphs.batch([0]).x, edge_index=graphs.batch([0]).edge_index)
    assert_same(classifier(data.x, data.edge_index), classifier(data.x, data.edge_index, torch.zeros(25).long()), 1e-6)


# ---------------------------------------------------------------- descriptors


@every_method
def test_descriptors_beside_the_structure_are_heard_and_kept(method: str, tmp_path: Path) -> None:
    plain = shapes(48)
    dose = torch.linspace(-1, 1, 48)[torch.randperm(48, generator=torch.Generator().manual_seed(0))]
    schema = replace(plain.schema, descriptors=("dose",))
    graphs = replace(plain, schema=schema, descriptors=dose.unsqueeze(1))
    classifier = make_classifier(method, schema, small(method))
    model = train(classifier, graphs, graphs, TINY_TRAINING).model
    given = probabilities(model, graphs)
    assert not torch.allclose(given, probabilities(model, replace(graphs, descriptors=-graphs.descriptors)))
    save_model(model, tmp_path, method)
    assert_same(probabilities(load_model(tmp_path), graphs), given)
