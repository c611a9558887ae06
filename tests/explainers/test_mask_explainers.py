"""GNNExplainer, PGExplainer and what is made of masks: known answers."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, Explanation, ModelConfig
from torch_geometric.explain import PGExplainer as PyGPGExplainer
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.nn import GCNConv, SimpleConv, global_mean_pool

from graphfnp.datasets.ba2motifs import constant_features, generate_ba2motifs
from graphfnp.errors import GraphFNPError
from graphfnp.explainers.centroids import centroid_rationales
from graphfnp.explainers.explain import explain
from graphfnp.explainers.explanations import (
    Explanations,
    edges_of_nodes,
    explanation_records,
    explanation_subgraphs,
    kept_edges,
    nodes_of_edges,
    symmetric,
    top_share,
)
from graphfnp.explainers.gnn_explainer import GNNExplainer
from graphfnp.explainers.pg_explainer import MOTIFS, PGExplainer, PGExplainerConfig, pg_settings
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.pointers import position_within
from graphfnp.graphs.pyg import from_data_list
from graphfnp.methods.registry import make_classifier
from graphfnp.networks.k_means import k_means
from tiny_graphs import packed, shapes, small

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def classifier(graphs: PackedGraphs) -> nn.Module:
    return make_classifier("vanilla", graphs.schema, small("vanilla", **{"backbone.name": "gin"}))


class Learner(ExplainerAlgorithm):
    """An explainer as another package would write it: every edge counts as much as graphs were learned on."""

    learned, fits = 0, 0

    @property
    def is_fitted(self) -> bool:
        return self.fits > 0

    def fit(self, model: nn.Module, batches: list) -> None:
        self.fits += 1
        self.learned = sum(len(target) for _, _, target, _ in batches)

    def forward(self, model: nn.Module, x: Tensor, edge_index: Tensor, **others: Any) -> Explanation:
        return Explanation(edge_mask=torch.full((edge_index.shape[1],), self.learned / 100))

    def supports(self) -> bool:
        return True


def test_any_explainer_that_must_learn_does_so_once_on_the_training_graphs() -> None:
    graphs, learner = shapes(6), Learner()
    for _ in range(2):
        found = explain(classifier(graphs), graphs, learner, training=shapes(13))
        assert found.edge_mask.tolist() == pytest.approx([0.13] * graphs.edge_index.shape[1])
    assert learner.fits == 1


# ---------------------------------------------------------------- masks


def test_directions_are_averaged() -> None:
    assert symmetric(torch.tensor([0.2, 0.6, 1.0, 0.0]), PATH, 3).tolist() == pytest.approx([0.4, 0.4, 0.5, 0.5])


def test_nodes_and_edges_above_a_threshold_are_one_subgraph() -> None:
    assert nodes_of_edges(torch.tensor([0.3, 0.3, 0.8, 0.8]), PATH, 4).tolist() == pytest.approx([0.3, 0.8, 0.8, 0])
    assert edges_of_nodes(torch.tensor([0.3, 0.9, 0.8]), PATH).tolist() == pytest.approx([0.3, 0.3, 0.8, 0.8])


def test_positions_count_within_an_owner() -> None:
    assert position_within(torch.tensor([1, 0, 1, 1, 0])).tolist() == [0, 0, 1, 2, 1]


def test_top_share_keeps_what_scores_and_at_least_one() -> None:
    score, owner = torch.tensor([0.1, 0.9, 0.5, 0.2, 0.0, 0.0, 0.7, 0.0]), torch.tensor([0, 0, 0, 0, 1, 1, 2, 2])
    kept = top_share(score, owner, 0.5)
    assert kept.tolist() == [False, True, True, False, True, False, True, False]


# ---------------------------------------------------------------- explanation subgraphs


def explained(graphs: PackedGraphs, edge_mask: list[float], scored: str = "edges") -> Explanations:
    mask = torch.tensor(edge_mask)
    nodes = nodes_of_edges(mask, graphs.batch().edge_index, len(graphs.x))
    return Explanations(mask, nodes, torch.zeros(len(graphs), dtype=torch.long), scored)  # type: ignore[arg-type]


def test_subgraph_holds_the_best_edges_and_their_ends() -> None:
    graphs = packed([(4, [(0, 1), (1, 2), (2, 3), (0, 3)]), (1, [])], [0, 1])
    value = {(0, 1): 0.1, (1, 2): 0.9, (2, 3): 0.8, (0, 3): 0.2}
    mask = [value[min(a, b), max(a, b)] for a, b in graphs.edge_index.T.tolist()]
    parts = explanation_subgraphs(graphs, explained(graphs, mask), 0.5)
    assert parts.node_ptr.tolist() == [0, 3, 4]  # nodes 1, 2, 3; the single node stays whole
    assert sorted(map(tuple, parts.edge_index.T.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert torch.equal(parts.x[:3], graphs.x[1:4])


def test_degrees_of_a_subgraph_are_counted_anew() -> None:
    graphs = generate_ba2motifs(2)
    found = Explanations(graphs.edge_truth.float(), torch.zeros(len(graphs.x)), graphs.y, "edges")
    parts = explanation_subgraphs(graphs, found, 0.3)
    assert parts.node_ptr.diff().tolist() == [5, 5]
    assert parts.x[:5, 0].tolist() == [2] * 5  # the cycle alone
    assert sorted(parts.x[5:, 0].tolist()) == [2, 2, 2, 3, 3]  # the house alone


def test_a_record_has_every_edge_of_a_directed_graph() -> None:
    down = [Data(x=torch.zeros(3, 1).long(), edge_index=torch.tensor([[2, 1], [1, 0]]), y=y) for y in (0, 1)]
    graphs = from_data_list(down)
    record = explanation_records(graphs, explained(graphs, [0.25, 0.75] * 2), [4, 5])[1]
    assert record["edges"] == [[0, 1, 0.25], [1, 2, 0.75]]
    assert record["kept"] == [[1, 2]]


def test_an_explanation_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(Exception, match="edge_mask"):
        Explanations(torch.tensor([1.5]), torch.tensor([1.0]), torch.tensor([0]), "edges")


# ---------------------------------------------------------------- GNNExplainer


def test_graphs_explained_together_get_what_each_gets_alone() -> None:
    graphs = shapes(6, seed=2)
    model = classifier(graphs)
    together = explain(model, graphs, GNNExplainer(epochs=10), batch_size=6)
    alone = explain(model, graphs, GNNExplainer(epochs=10), batch_size=1)
    torch.testing.assert_close(together.edge_mask, alone.edge_mask, atol=1e-4, rtol=0)


def test_edges_at_one_place_of_two_graphs_do_not_start_from_one_noise() -> None:
    path, star = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([[0, 0, 0], [1, 2, 3]])
    graphs = [Data(x=torch.ones(4, 2), edge_index=edges) for edges in (path, star, path)]
    torch.manual_seed(0)  # of some weights no edge would matter
    starts = explain(OfOneLayer(), graphs, GNNExplainer(epochs=1), returns="raw").edge_mask.view(3, 3)
    assert (starts[0] - starts[1]).abs().max() > 0.05
    torch.testing.assert_close(starts[0], starts[2])


def test_gnn_explainer_lowers_the_mask_of_an_edge_that_speaks_against_the_class() -> None:
    class CountEdge(nn.Module):
        """Log-odds of class 1: the message along the first edge, minus that along the second."""

        def __init__(self) -> None:
            super().__init__()
            self.sum = SimpleConv(aggr="sum")

        def forward(self, x, edge_index, batch=None):
            h = self.sum(x, edge_index).sum()
            return torch.stack([-h, h])[None]

    explainer = Explainer(
        CountEdge(), GNNExplainer(epochs=50, lr=0.1, edge_size=0.0, edge_ent=0.0), "phenomenon",
        ModelConfig("multiclass_classification", "graph", "raw"), edge_mask_type="object",
    )  # fmt: skip
    x, edges = torch.tensor([[1.0], [-1.0], [0.0]]), torch.tensor([[0, 1], [2, 2]])
    mask = explainer(x, edges, target=torch.tensor([1])).edge_mask
    assert mask[0] > 0.8
    assert mask[1] < 0.2


# ---------------------------------------------------------------- PGExplainer


def test_settings_of_one_instance_do_not_reach_another() -> None:
    before = dict(PyGPGExplainer.coeffs)
    one = PGExplainer(PGExplainerConfig(size=7.0))
    assert PyGPGExplainer.coeffs == before
    assert one.coeffs["edge_size"] == 7.0
    assert PGExplainer().coeffs["edge_size"] == PGExplainerConfig().size


def test_eval_and_train_mean_what_they_mean_for_modules() -> None:
    explainer = PGExplainer()
    assert explainer.eval().training is False
    assert explainer.train().training is True


def test_published_settings_follow_the_kind_of_graph() -> None:
    assert pg_settings(generate_ba2motifs(2).schema) == MOTIFS
    assert pg_settings(replace(shapes(3).schema, kind="molecule")) == PGExplainerConfig()


def test_masks_of_sure_edges_keep_their_order() -> None:
    graphs = shapes(8, seed=2)
    rash = PGExplainer(PGExplainerConfig(epochs=1))
    with torch.no_grad():
        rash.mlp[-1].bias.fill_(-1e4)
    mask = explain(classifier(graphs), graphs, rash).edge_mask
    assert 0 < mask.min() < mask.max() < 1
    assert len(mask.unique()) > 4


def test_pg_explainer_learns_after_gnn_explainer_used_the_same_model() -> None:
    graphs = shapes(8, seed=2)
    model = classifier(graphs)
    fresh = explain(classifier(graphs), graphs, PGExplainer(PGExplainerConfig(epochs=3)))
    explain(model, graphs, GNNExplainer(epochs=2))
    after = explain(model, graphs, PGExplainer(PGExplainerConfig(epochs=3)))
    assert torch.equal(after.edge_mask, fresh.edge_mask)


# ---------------------------------------------------------------- centroids


def test_centroids_are_the_means_of_separate_groups() -> None:
    points = torch.tensor([[0.0, 0.0], [0.0, 1.0], [10.0, 0.0], [10.0, 1.0]])
    assert sorted(k_means(points, 2, seed=0).tolist()) == [[0.0, 0.5], [10.0, 0.5]]
    assert len(k_means(torch.ones(4, 2), 3, seed=0)) == 1


def test_rationales_of_an_explainer_have_a_real_subgraph_each() -> None:
    graphs = constant_features(generate_ba2motifs(12))
    model = classifier(graphs)
    found = Explanations(graphs.edge_truth.float(), torch.zeros(len(graphs.x)), graphs.y, "edges")
    rationales = centroid_rationales(model, graphs, found, per_class=2, share=0.3)
    assert rationales.label.unique().tolist() == [0, 1]
    # All motifs of a class are the same graph, so each class has one rationale: the motif.
    assert [(s.num_nodes, len(s.edges)) for s in rationales.structures if s] == [(5, 5), (5, 6)]
    torch.testing.assert_close(rationales.similarity, torch.ones(2))
    assert kept_edges(graphs, found, 0.3).sum() == graphs.edge_truth.sum()


class OfOneLayer(nn.Module):
    """Any user's PyG model, of as many scores as asked for."""

    def __init__(self, scores: int = 2) -> None:
        super().__init__()
        self.conv, self.head = GCNConv(2, 4), nn.Linear(4, scores)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        return self.head(global_mean_pool(self.conv(x, edge_index).relu(), batch))


@pytest.mark.parametrize(
    ("scores", "count", "target", "told"),
    [
        (2, 0, None, "no graphs"),
        (2, None, None, "write [data]"),
        (2, 3, [0, 1, 2], "classes from 0 to 1"),
        (2, 3, [-1, 0, 0], "classes from 0 to 1"),
        (2, 3, [0], "target of shape [1]"),
        (1, 3, None, "a score for each of two classes"),
    ],
)
def test_what_cannot_be_explained_of_a_model_of_ones_own_is_refused(
    scores: int, count: int | None, target: list[int] | None, told: str
) -> None:
    one = Data(x=torch.ones(3, 2), edge_index=PATH)
    graphs: Any = one if count is None else [one] * count
    wanted = None if target is None else torch.tensor(target)
    with pytest.raises(GraphFNPError, match=re.escape(told)):
        explain(OfOneLayer(scores), graphs, "subgraphx", target=wanted, returns="raw")


def test_a_model_that_takes_one_graph_at_a_time_is_explained_so() -> None:
    class Alone(OfOneLayer):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:  # type: ignore[override]
            return super().forward(x, edge_index)

    graphs = [Data(x=torch.ones(3, 2), edge_index=PATH)] * 3
    found = explain(Alone(), graphs, PGExplainer(PGExplainerConfig(epochs=1)), returns="raw", batch_size=1)
    assert found.edge_mask.shape == (12,)


@pytest.mark.parametrize("name", ["gnn-explainer", "pg-explainer"])
def test_a_model_whose_messages_no_mask_can_weigh_is_refused_with_a_way_out(name: str) -> None:
    class OfNodes(OfOneLayer):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Linear(2, 4)  # type: ignore[assignment]

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
            return self.head(global_mean_pool(self.conv(x), batch))

    with pytest.raises(GraphFNPError, match="subgraphx or gstarx"):
        explain(OfNodes(), [Data(x=torch.ones(3, 2), edge_index=PATH)], name, returns="raw")


@pytest.mark.parametrize("target", [torch.tensor([1, 0, 1]), [1, 0, 1], np.array([1, 0, 1])])
def test_a_class_that_is_given_is_the_one_explained(target: Any) -> None:
    graphs = [Data(x=torch.ones(3, 2), edge_index=PATH)] * 3
    found = explain(OfOneLayer(), graphs, "gstarx", target=target, returns="raw")
    assert found.target.tolist() == [1, 0, 1]


def test_a_model_that_returns_several_things_is_refused() -> None:
    class WithEmbedding(OfOneLayer):
        def forward(self, *given: Any, **named: Any) -> Any:
            return super().forward(*given, **named), given[0]

    with pytest.raises(GraphFNPError, match=r"returns \['tuple'\]"):
        explain(WithEmbedding(), [Data(x=torch.ones(3, 2), edge_index=PATH)], "gstarx", returns="raw")
