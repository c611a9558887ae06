"""Descriptors beside node states: scaled by training graphs, absent where none are known."""

from dataclasses import replace

import torch

from graphfnp.graphs.packed import PackedGraphs, concatenate
from graphfnp.graphs.subgraphs import beside_subgraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.backbone import Backbone, BackboneConfig
from graphfnp.networks.descriptors import DescriptorInput, fit_descriptors
from graphfnp.networks.mean_state import mean_state
from graphfnp.networks.neighbourhood import mean_pool
from graphfnp.prediction.predict import predict
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train
from tiny_graphs import TYPED, shapes

BESIDE = replace(TYPED, descriptors=("dose", "pH"))


def described(count: int, values: torch.Tensor | None = None) -> PackedGraphs:
    graphs = shapes(count, TYPED)
    values = torch.randn(count, 2, generator=torch.Generator().manual_seed(0)) if values is None else values
    return replace(graphs, schema=BESIDE, descriptors=values)


def test_values_are_scaled_by_the_training_graphs_and_cut_far_from_them() -> None:
    part = DescriptorInput(3, 3).eval()
    with torch.no_grad():
        part.linear.weight.copy_(torch.eye(3))
    part.fit(torch.tensor([[10.0, 1.0, 7.0], [30.0, 3.0, 7.0]]))
    batch = replace(shapes(3, TYPED).batch(), descriptors=torch.tensor([[20, 2, 8], [30, 1, 7], [1e9, -1e9, 0]]))
    found = part(batch)
    assert found.tolist() == [[0, 0, 0], [1, -1, 0], [5, -5, 0]]  # the third column never varied: it says nothing


def test_a_graph_without_descriptors_is_one_with_mean_descriptors() -> None:
    graphs = described(8)
    backbone = Backbone(BESIDE, BackboneConfig(layers=2, width=16)).eval()
    fit_descriptors(backbone, graphs)
    batch = graphs.batch()
    assert batch.descriptors is not None
    without = backbone(replace(batch, descriptors=None))
    at_mean = backbone(replace(batch, descriptors=batch.descriptors.mean(0).expand(8, -1)))
    torch.testing.assert_close(without, at_mean)
    assert not torch.allclose(without, backbone(batch))
    with torch.no_grad():  # the quick way to the mean state of graphs
        torch.testing.assert_close(mean_state(backbone, batch), mean_pool(backbone(batch), batch))


def test_descriptors_go_with_their_graphs() -> None:
    graphs = described(5)
    assert graphs.descriptors is not None
    assert torch.equal(graphs.select([3, 1]).descriptors, graphs.descriptors[[3, 1]])  # type: ignore[arg-type]
    assert torch.equal(graphs.batch([4, 0]).select(torch.tensor([1])).descriptors, graphs.descriptors[:1])  # type: ignore[arg-type]
    assert torch.equal(concatenate([graphs, graphs]).descriptors, graphs.descriptors.repeat(2, 1))  # type: ignore[arg-type]
    both = beside_subgraphs(graphs.batch(), 0.3, graphs.schema)
    assert torch.equal(both.descriptors, graphs.descriptors.repeat(2, 1))  # type: ignore[arg-type]


def test_a_schema_without_descriptors_has_the_weights_it_always_had() -> None:
    plain, beside = (make_classifier("graphfnp", schema, {"backbone.width": 16}) for schema in (TYPED, BESIDE))
    more = set(beside.state_dict()) - set(plain.state_dict())
    assert more == {f"encoder.backbone.descriptors.{name}" for name in ("mean", "scale", "linear.weight")}
    assert "descriptors" not in TYPED.to_json()


def test_graphfnp_learns_what_the_descriptors_alone_decide() -> None:
    values = torch.randn(240, 2, generator=torch.Generator().manual_seed(1)) * torch.tensor([40.0, 1.0]) + 300
    graphs = replace(described(240, values), y=(values[:, 0] > 300).long())
    config = TrainingConfig(epochs=120, finishing_epochs=0)
    classifier = make_classifier("graphfnp", BESIDE, {"backbone.width": 32, "generation_weight": 0.0})
    model = train(classifier, graphs.select(range(160)), graphs.select(range(160, 200)), config).model
    test = graphs.select(range(200, 240))
    right = (predict(model, test).probabilities.argmax(1) == test.y).float().mean()
    assert right > 0.85
