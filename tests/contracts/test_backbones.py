"""What every backbone promises: six by name, and modules of a user's own."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT, GCN, GIN, PNA, GATConv, GATv2Conv, GCNConv, GraphSAGE

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.backbone import Backbone, BackboneConfig, ModuleBackbone, make_backbone
from graphfnp.networks.convolutions import LAYERS
from tiny_graphs import NUMBERS, TYPED, packed, shapes, small

every_backbone = pytest.mark.parametrize("name", LAYERS)
SUMMING = ("gcn", "gin", "sage", "ggnn")  # those with a sparse product


def backbone_of(name: str, graphs: PackedGraphs) -> Backbone:
    torch.manual_seed(0)
    return Backbone(graphs.schema, BackboneConfig(name, layers=2, width=16)).eval()  # type: ignore[arg-type]


def test_there_are_six_backbones_by_name() -> None:
    assert set(LAYERS) == {"gcn", "gat", "gin", "sage", "ggnn", "pna"}


@every_backbone
@pytest.mark.parametrize("schema", [TYPED, NUMBERS], ids=["types", "numbers"])
def test_node_states_are_finite_and_of_the_width_asked_for(name: str, schema) -> None:
    graphs = shapes(6, schema)
    states = backbone_of(name, graphs)(graphs.batch())
    assert states.shape == (len(graphs.x), 16)
    assert states.isfinite().all()


@pytest.mark.parametrize("name", SUMMING)
@pytest.mark.parametrize("schema", [TYPED, NUMBERS], ids=["types", "numbers"])
def test_sparse_product_equals_gather_and_scatter_in_value_and_gradient(name: str, schema) -> None:
    graphs = shapes(7, schema)
    backbone, batch = backbone_of(name, graphs), graphs.batch()
    assert batch.undirected
    results = []
    for undirected in (True, False):
        backbone.zero_grad()
        states = backbone(replace(batch, undirected=undirected))
        (states * torch.linspace(-1, 1, states.numel()).view_as(states)).sum().backward()
        gradients = {n: p.grad.clone() for n, p in backbone.named_parameters() if p.grad is not None}
        results.append((states.detach(), gradients))
    (fused, fused_gradients), (plain, plain_gradients) = results
    torch.testing.assert_close(fused, plain, atol=1e-5, rtol=1e-5)
    assert fused_gradients.keys() == plain_gradients.keys()
    for parameter, gradient in fused_gradients.items():
        torch.testing.assert_close(gradient, plain_gradients[parameter], atol=1e-4, rtol=1e-4)


def test_gcn_layer_is_pygs() -> None:
    graphs = shapes(5, NUMBERS)
    batch, layer = graphs.batch(), LAYERS["gcn"](4, ())
    reference = GCNConv(4, 4)
    reference.lin.weight.data.copy_(layer.linear.weight)  # type: ignore[union-attr]
    # Ours adds the bias before the sum over neighbours; without it the two are the same.
    layer.linear.bias.data.zero_()  # type: ignore[union-attr]
    edges = layer.edges(batch, (), None)  # type: ignore[operator]
    torch.testing.assert_close(layer(batch.x, edges), reference(batch.x, batch.edge_index), atol=1e-6, rtol=1e-5)


@every_backbone
def test_a_graph_of_one_node_and_a_graph_without_edges_have_states(name: str) -> None:
    graphs = packed([(1, []), (3, []), (4, [(0, 1), (1, 2)])], [0, 1, 2])
    backbone = backbone_of(name, graphs)
    states = backbone(graphs.batch())
    assert states.isfinite().all()
    torch.testing.assert_close(backbone(graphs.batch([0])), states[:1], atol=1e-5, rtol=1e-5)


@every_backbone
def test_a_single_node_can_be_trained_on(name: str) -> None:
    graphs = packed([(1, [])], [0], NUMBERS)
    backbone = backbone_of(name, graphs).train()
    backbone(graphs.batch()).sum().backward()
    assert all(p.grad.isfinite().all() for p in backbone.parameters() if p.grad is not None)


@every_backbone
def test_messages_of_directed_edges_go_one_way(name: str) -> None:
    graphs = PackedGraphs.build(
        x=torch.randn(3, 4, generator=torch.Generator().manual_seed(0)),
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        node_ptr=torch.tensor([0, 3]),
        edge_ptr=torch.tensor([0, 2]),
        y=torch.tensor([0]),
        schema=NUMBERS,
    )
    assert not graphs.undirected
    backbone, batch = backbone_of(name, graphs), graphs.batch()
    changed = replace(batch, x=batch.x + torch.tensor([[0.0], [0.0], [1.0]]))
    moved = (backbone(changed) - backbone(batch)).abs().amax(-1)
    assert (moved[:2] < 1e-6).all()  # node 2 sends to nobody
    changed = replace(batch, x=batch.x + torch.tensor([[1.0], [0.0], [0.0]]))
    moved = (backbone(changed) - backbone(batch)).abs().amax(-1)
    assert (moved > 1e-6).all()  # two layers carry node 0 to node 2


@every_backbone
def test_edge_types_reach_the_states(name: str) -> None:
    graphs = shapes(6)
    backbone, batch = backbone_of(name, graphs), graphs.batch()
    assert batch.edge_attr is not None
    other = backbone(replace(batch, edge_attr=(batch.edge_attr + 1) % 3))
    assert (other - backbone(batch)).abs().max() > 1e-4


@every_backbone
def test_edge_weight_one_is_none_and_zero_is_no_edge(name: str) -> None:
    graphs = shapes(6, NUMBERS)
    backbone, batch = backbone_of(name, graphs), graphs.batch()
    ones = torch.ones(batch.edge_index.shape[1])
    torch.testing.assert_close(backbone(batch, ones), backbone(batch), atol=1e-5, rtol=1e-5)
    silent = backbone(batch, 0 * ones)
    changed = replace(batch, x=batch.x + (torch.arange(len(batch.x)) == 0).float().unsqueeze(1))
    moved = (backbone(changed, 0 * ones) - silent).abs().amax(-1)
    assert (moved[1:] < 1e-6).all()


@pytest.mark.parametrize("name", ["gin", "ggnn", "gat"])  # where the number of edges does not count
def test_an_edge_of_weight_zero_might_as_well_not_be_there(name: str) -> None:
    graphs = shapes(6, NUMBERS)
    backbone, batch = backbone_of(name, graphs), graphs.batch()
    kept = torch.arange(batch.edge_index.shape[1]) % 3 > 0
    fewer = replace(batch, edge_index=batch.edge_index[:, kept], undirected=False)
    torch.testing.assert_close(backbone(batch, kept.float()), backbone(fewer), atol=1e-5, rtol=1e-5)


# ---------------------------------------------------------------- modules of a user


class Reader(nn.Module):
    """A user's own module that asks for everything it could be given."""

    out_channels = 8

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 8)
        self.seen: dict[str, Any] = {}

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None
    ) -> Tensor:
        self.seen = {"x": x, "edge_index": edge_index, "edge_attr": edge_attr, "batch": batch}  # type: ignore[dict-item]
        return self.linear(x.float())


class Returning(nn.Module):
    """A module that makes something of its node states."""

    in_channels, out_channels = 12, 8

    def __init__(self, what: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.linear, self.what = nn.Linear(12, 8), what

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.what(self.linear(x))


@pytest.mark.parametrize("module", [GraphSAGE, GIN, GAT])
@pytest.mark.parametrize("schema", [TYPED, NUMBERS], ids=["types", "numbers"])
def test_a_pyg_network_is_a_backbone(module, schema) -> None:
    graphs = shapes(6, schema)
    classifier = make_classifier("vanilla", schema, small("vanilla"), backbone=module(12, 16, 2, 8))
    assert isinstance(classifier.backbone, ModuleBackbone)
    assert classifier.embed(classifier.encode(graphs.batch())).shape == (6, 8)
    assert classifier.draw_logits(classifier.encode(graphs.batch()), 2).shape == (2, 6, 3)


def test_a_graphfnp_takes_a_users_backbone() -> None:
    graphs = shapes(6)
    classifier = make_classifier("graphfnp", TYPED, small("graphfnp"), backbone=GraphSAGE(12, 16, 2, 8))
    assert classifier.draw_logits(classifier.encode(graphs.batch()), 4).shape == (4, 6, 3)


def test_a_users_module_gets_the_arguments_it_names_and_raw_features_without_in_channels() -> None:
    batch, reader = shapes(3, NUMBERS).batch(), Reader()
    make_backbone(NUMBERS, BackboneConfig(), reader)(batch)
    assert torch.equal(reader.seen["x"], batch.x)
    assert torch.equal(reader.seen["batch"], batch.batch)
    typed = shapes(3).batch()
    reader.linear, reader.in_channels = nn.Linear(1, 8), None
    ModuleBackbone(reader, TYPED)(typed)
    assert torch.equal(reader.seen["x"], typed.x)
    assert typed.edge_attr is not None
    assert torch.equal(reader.seen["edge_attr"], typed.edge_attr)


def test_a_module_of_unknown_width_is_refused_with_the_way_out() -> None:
    module = nn.Linear(4, 8)
    with pytest.raises(InvalidConfig, match=r"module\.out_channels = \.\.\."):
        make_classifier("vanilla", NUMBERS, backbone=module)
    module.out_channels = 8  # type: ignore[assignment]
    assert make_classifier("vanilla", NUMBERS, backbone=module).backbone.out_width == 8


def test_numbers_of_categories_are_not_fed_as_values_in_silence() -> None:
    reader = Reader()
    with pytest.raises(InvalidConfig, match="numbers of categories"):
        make_classifier("vanilla", TYPED, backbone=reader)
    reader.in_channels = 4
    reader.linear = nn.Linear(4, 8)
    batch = shapes(3).batch()
    make_classifier("vanilla", TYPED, backbone=reader).encode(batch)
    assert reader.seen["x"].shape == (batch.num_nodes, 4)


def test_a_module_that_must_have_edge_features_is_refused_for_graphs_without_any() -> None:
    class Bonds(Returning):
        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:  # type: ignore[override]
            return self.linear(x)

    with pytest.raises(InvalidConfig, match="edge_attr=None"):
        ModuleBackbone(Bonds(None), NUMBERS)  # type: ignore[arg-type]
    assert ModuleBackbone(Bonds(None), TYPED)(shapes(3).batch()).shape[1] == 8  # type: ignore[arg-type]


def test_weighted_edges_for_a_module_that_cannot_take_them_are_refused() -> None:
    batch = shapes(3, NUMBERS).batch()
    with pytest.raises(InvalidConfig, match="edge_weight"):
        ModuleBackbone(Reader(), NUMBERS)(batch, torch.ones(batch.edge_index.shape[1]))


@pytest.mark.parametrize("settings", [{"name": "gnn"}, {"width": 10}, {"layers": 0}, {"dropout": 1.0}])
def test_settings_no_backbone_can_have_are_refused(settings: dict) -> None:
    with pytest.raises(InvalidConfig):
        BackboneConfig(**settings)


def test_features_of_another_width_are_refused_by_the_network_too() -> None:
    graphs = shapes(2, NUMBERS)
    wide: Batch = replace(graphs.batch(), x=torch.zeros(len(graphs.x), 5))
    with pytest.raises(InvalidGraphs, match="as the model was trained on"):
        backbone_of("gcn", graphs)(wide)


@pytest.mark.parametrize(
    "module",
    [
        GAT(12, 16, 2, 8, v2=True),
        PNA(12, 16, 2, 8, aggregators=["mean"], scalers=["identity"], deg=torch.tensor([1, 2])),
        GAT(12, 16, 2, 8, v2=True, edge_dim=1),
        GATv2Conv(12, 8),
    ],
    ids=["no edge_dim", "PNA", "edge_dim", "layer"],
)
def test_pyg_networks_get_edge_features_if_they_were_made_for_them(module) -> None:
    batch = shapes(6).batch()
    backbone = ModuleBackbone(module, TYPED).eval()
    changed = replace(batch, edge_attr=batch.edge_attr + 1.0)
    assert torch.equal(backbone(batch), backbone(changed)) == ("edge_attr" not in backbone.accepts)
    assert ("edge_attr" in backbone.accepts) == any(getattr(part, "edge_dim", None) for part in module.modules())


@pytest.mark.parametrize("module", [GraphSAGE, GIN, GAT])
def test_a_pyg_network_that_leaves_weights_of_edges_out_is_refused(module) -> None:
    graphs = shapes(6)
    classifier = make_classifier("gsat", TYPED, small("gsat"), backbone=module(12, 16, 2, 8))
    with pytest.raises(InvalidConfig, match="with weighted edges"):
        classifier.encode(graphs.batch())
    make_classifier("gsat", TYPED, small("gsat"), backbone=GCN(12, 16, 2, 8)).encode(graphs.batch())


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (GATConv(12, 8, heads=2), r"returns \[\d+, 16\] for \d+ nodes"),
        (Returning(lambda states: (states, states)), "returns a tuple"),
        (Returning(lambda states: states.mean(0, keepdim=True)), r"returns \[1, 8\]"),
        (GCN(-1, 16, 2, 8), "in_channels=-1"),
    ],
    ids=["heads", "tuple", "pooled", "lazy"],
)
def test_a_module_whose_states_are_not_those_of_nodes_says_so(module, says) -> None:
    with pytest.raises(InvalidConfig, match=says):
        make_classifier("vanilla", TYPED, small("vanilla"), backbone=module).encode(shapes(3).batch())
