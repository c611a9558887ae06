"""What every explainer promises, checked for each entry of EXPLAINERS on models of several kinds."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, ModelConfig
from torch_geometric.nn import GCNConv, GINConv, MessagePassing, global_mean_pool

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.explain import EXPLAINERS, explain
from graphfnp.explainers.gnn_explainer import GNNExplainer
from graphfnp.explainers.gstarx import GStarX, GStarXConfig
from graphfnp.explainers.pg_explainer import PGExplainer, PGExplainerConfig
from graphfnp.explainers.subgraphx import SubgraphX, SubgraphXConfig
from graphfnp.graphs.packed import PackedGraphs, concatenate
from graphfnp.methods.registry import make_classifier
from tiny_graphs import packed, shapes, small

QUICK: dict[str, Callable[[int], Any]] = {
    "gnn-explainer": lambda seed: GNNExplainer(epochs=5, seed=seed),
    "pg-explainer": lambda seed: PGExplainer(PGExplainerConfig(epochs=3), seed),
    "subgraphx": lambda seed: SubgraphX(SubgraphXConfig(rollouts=3, samples=8), seed),
    "gstarx": lambda seed: GStarX(GStarXConfig(max_sample_size=5), seed),
    "gsat": lambda seed: EXPLAINERS["gsat"].make(None, seed),
}
every_explainer = pytest.mark.parametrize("name", EXPLAINERS)
explainers_of_any_model = pytest.mark.parametrize("name", [name for name in EXPLAINERS if name != "gsat"])


class PlainModel(nn.Module):
    """A user's own PyG classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.first = GCNConv(4, 8)
        self.second = GINConv(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)))
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(8, 3)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        h = self.second(torch.relu(self.first(x, edge_index)), edge_index)
        return self.head(self.drop(global_mean_pool(h, batch)))


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    """Rings, paths and stars with node and edge types, a single node, and two pieces."""
    odd = packed([(1, []), (5, [(0, 1), (2, 3), (3, 4)])], [0, 1])
    return concatenate([shapes(4, seed=5), odd])


def classifier_for(name: str, backbone: str = "gin") -> nn.Module:
    method = "gsat" if name == "gsat" else "vanilla"
    schema = shapes(3).schema
    return make_classifier(method, schema, small(method, **{"backbone.name": backbone}))


def plain_model() -> PlainModel:
    torch.manual_seed(0)
    return PlainModel()


def plain_graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(1)
    ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    none = torch.zeros(2, 0, dtype=torch.long)
    return [
        Data(x=torch.randn(n, 4, generator=generator), edge_index=edges)
        for n, edges in ((4, ring), (6, ring), (1, none))
    ]


def state_of(model: nn.Module) -> dict[str, Any]:
    """Everything an explainer could leave behind."""
    modules = list(model.modules())
    return {
        "weights": {name: value.clone() for name, value in model.state_dict().items()},
        "parameters": [(name, weight.requires_grad, weight.grad) for name, weight in model.named_parameters()],
        "modes": [module.training for module in modules],
        "hooks": [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in modules],
        "places": [sorted(module._parameters) for module in modules],
        "masks": [(part.explain, part._edge_mask) for part in modules if isinstance(part, MessagePassing)],
    }


def assert_same_state(model: nn.Module, before: dict[str, Any]) -> None:
    after = state_of(model)
    for name, value in before.pop("weights").items():
        assert torch.equal(after["weights"][name], value), name
    del after["weights"]
    assert after == before


@every_explainer
@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin"])
def test_masks_are_valid_for_every_backbone_and_kind_of_graph(name: str, backbone: str, graphs: PackedGraphs) -> None:
    found = explain(classifier_for(name, backbone), graphs, QUICK[name](0), scored=EXPLAINERS[name].scored)
    assert found.edge_mask.shape == (graphs.edge_index.shape[1],)
    assert found.node_mask.shape == (len(graphs.x),)
    assert found.target.shape == (len(graphs),)
    for mask in (found.edge_mask, found.node_mask):
        assert ((mask >= 0) & (mask <= 1)).all()


@every_explainer
def test_both_directions_of_an_edge_have_one_mask(name: str, graphs: PackedGraphs) -> None:
    found = explain(classifier_for(name), graphs, QUICK[name](0), scored=EXPLAINERS[name].scored)
    batch = graphs.batch()
    masks = dict(zip(map(tuple, batch.edge_index.T.tolist()), found.edge_mask.tolist(), strict=True))
    assert all(masks[a, b] == pytest.approx(masks[b, a]) for a, b in masks)


@every_explainer
def test_the_model_is_left_as_it_was(name: str, graphs: PackedGraphs) -> None:
    model = classifier_for(name)
    model.train()
    model.head.eval()  # a mode of its own in one part
    before, stream_before = state_of(model), torch.random.get_rng_state()
    explain(model, graphs, QUICK[name](0), scored=EXPLAINERS[name].scored)
    assert_same_state(model, before)
    assert torch.equal(torch.random.get_rng_state(), stream_before)


@every_explainer
def test_the_same_seed_gives_the_same_explanation(name: str, graphs: PackedGraphs) -> None:
    model = classifier_for(name)
    scored = EXPLAINERS[name].scored
    first = explain(model, graphs, QUICK[name](3), seed=3, scored=scored)
    torch.rand(5)
    assert torch.equal(explain(model, graphs, QUICK[name](3), seed=3, scored=scored).edge_mask, first.edge_mask)


@explainers_of_any_model
def test_a_plain_pyg_model_is_explained_and_left_alone(name: str) -> None:
    model, graphs = plain_model().train(), plain_graphs()
    before = state_of(model)
    found = explain(model, graphs, QUICK[name](0), returns="raw", scored=EXPLAINERS[name].scored)
    assert_same_state(model, before)
    assert found.edge_mask.shape == (16,)
    assert found.node_mask.shape == (11,)


@explainers_of_any_model
@pytest.mark.parametrize("kind", ["model", "phenomenon"])
def test_pyg_explainer_takes_the_algorithm_for_one_graph(name: str, kind: str) -> None:
    model, data, algorithm = plain_model(), plain_graphs()[1], QUICK[name](0)
    masks = {f"{EXPLAINERS[name].scored[:-1]}_mask_type": "object"}
    explainer = Explainer(model, algorithm, kind, ModelConfig("multiclass_classification", "graph", "raw"), **masks)
    target = torch.tensor([1])
    if isinstance(algorithm, PGExplainer):
        algorithm.fit(model, [(data.x, data.edge_index, target, {})])
    explanation = explainer(data.x, data.edge_index, target=target if kind == "phenomenon" else None)
    assert explanation.validate_masks()


@every_explainer
def test_a_graph_without_edges_alone_has_an_empty_explanation(name: str) -> None:
    alone = packed([(1, [])], [0])
    assert len(explain(classifier_for(name), alone, QUICK[name](0), scored=EXPLAINERS[name].scored).edge_mask) == 0


def test_an_unknown_name_is_an_error_that_lists_the_names(graphs: PackedGraphs) -> None:
    with pytest.raises(InvalidConfig, match="gnn-explainer"):
        explain(classifier_for(""), graphs, "lime")


def test_gsat_explains_only_models_that_attend(graphs: PackedGraphs) -> None:
    with pytest.raises(InvalidConfig, match="edge attention"):
        explain(classifier_for("vanilla"), graphs, "gsat")
