"""Coalition explainers: batches and memo, the search, and masks through PyG's Explainer on any graph classifier."""

import copy
from dataclasses import replace
from itertools import pairwise
from math import isnan

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.explain import Explainer
from torch_geometric.nn import GATConv, GCNConv, GINConv, global_mean_pool

from graphfnp.errors import InvalidConfig
from graphfnp.explainers import local_states
from graphfnp.explainers.coalition_explainer import CoalitionExplainer
from graphfnp.explainers.coalitions import Evaluator, Game
from graphfnp.explainers.gstarx import GStarX, GStarXConfig, best_nodes, sampled_nodes
from graphfnp.explainers.local_states import LocalEvaluator
from graphfnp.explainers.node_sets import from_rows, members, neighbour_sets, reached, to_rows
from graphfnp.explainers.subgraphx import SubgraphX, SubgraphXConfig, TreeSearch
from graphfnp.methods.registry import make_classifier
from tiny_graphs import NUMBERS, TYPED, packed, shapes, small

QUICK = SubgraphXConfig(rollouts=4, samples=16, min_nodes=2, expand=4)
ALGORITHMS = [SubgraphX(QUICK, seed=1), GStarX(GStarXConfig(max_sample_size=4), seed=1)]
LAYERS = {
    "gcn": lambda a, b: GCNConv(a, b),
    "gat": lambda a, b: GATConv(a, b),
    "gin": lambda a, b: GINConv(nn.Linear(a, b)),
}
LAYERS_OF_OURS = ["gcn", "gat", "gin", "sage", "ggnn", "pna"]


class Plain(nn.Module):
    """A PyG model that never heard of us: logits of three classes."""

    def __init__(self, layer: str = "gcn", width: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = LAYERS[layer](width, 8), LAYERS[layer](8, 8)
        self.head, self.dropout = nn.Linear(8, 3), nn.Dropout(0.5)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = self.second(torch.relu(self.first(x, edge_index)), edge_index)
        return self.head(global_mean_pool(self.dropout(torch.relu(h)), batch))


def vanilla(schema=TYPED, **others) -> nn.Module:
    torch.manual_seed(0)
    return make_classifier("vanilla", schema, small("vanilla", **others))


def settled(model: nn.Module) -> nn.Module:
    """The model with batch statistics of its own, as after training, ready to be asked."""
    with torch.no_grad():
        for norm in [part for part in model.modules() if isinstance(part, nn.BatchNorm1d)]:
            norm.running_mean.normal_(0, 0.5)
            norm.running_var.uniform_(0.5, 2)
        for weight in model.head.parameters():
            weight.mul_(3)
    return model.eval()


def games_of(graphs, target: int = 0) -> list[Game]:
    batches = [graphs.batch([g]) for g in range(len(graphs))]
    fields = [{} if batch.edge_attr is None else {"edge_attr": batch.edge_attr} for batch in batches]
    return [Game(b.x, b.edge_index, target, {}, edge) for b, edge in zip(batches, fields, strict=True)]


def explained(model: nn.Module, algorithm: CoalitionExplainer, graphs, returns: str = "raw", **settings):
    explainer = Explainer(
        model, algorithm, "model", node_mask_type="object", edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": returns},
    )  # fmt: skip
    batch = graphs.batch()
    others = {} if batch.edge_attr is None else {"edge_attr": batch.edge_attr}
    return explainer(batch.x, batch.edge_index, batch=batch.batch, **others, **settings)


# ------------------------------------------------------------------------ sets, batches, memo


def test_sets_survive_the_way_to_rows_and_back() -> None:
    sets = [0, 1, 0b1010, (1 << 70) | 5]
    rows = to_rows(sets, 71)
    assert rows.sum(1).tolist() == [0, 1, 2, 3]
    assert from_rows(rows) == sets


def test_reached_counts_steps() -> None:
    neighbours = neighbour_sets(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert reached(0b00001, neighbours, hops=2) == 0b00111
    assert reached(0b00001, neighbours) == 0b11111
    assert reached(0b00001, neighbours, within=0b11011) == 0b00011


@pytest.mark.parametrize("filling", ["zero_filling", "split"])
def test_coalitions_of_many_graphs_in_batches_equal_one_at_a_time(filling) -> None:
    graphs, model = shapes(4, NUMBERS), Plain().eval()
    games = games_of(graphs, target=1)
    evaluator = Evaluator(lambda x, e, b: model(x, e, b).softmax(-1), 3, filling == "split", node_budget=50)
    evaluator.fill([(game, range(1, 1 << game.num_nodes)) for game in games])
    for game in games:
        for coalition in range(1, 1 << game.num_nodes, 3):
            inside = torch.tensor([bool(coalition >> v & 1) for v in range(game.num_nodes)])
            x, edges = game.x * inside.unsqueeze(1), game.edge_index
            if filling == "split":
                edges = edges[:, inside[edges].all(0)]
                x, edges = game.x[inside], (inside.cumsum(0) - 1)[edges]
            alone = model(x, edges, torch.zeros(len(x), dtype=torch.long)).softmax(-1)[0, 1].item()
            assert game.worth[coalition] == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("backbone", LAYERS_OF_OURS)
def test_coalitions_from_remembered_states_equal_those_seen_whole(backbone: str) -> None:
    model = settled(vanilla(**{"backbone.name": backbone}))
    graphs = packed([(7, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (5, 6)]), (4, [(0, 1), (0, 2), (0, 3)])], [0, 1])
    whole, parts = games_of(graphs), games_of(graphs)
    coalitions = [range(1, 1 << game.num_nodes) for game in whole]
    Evaluator(lambda x, e, b, edge_attr: model(x, e, b, edge_attr).exp(), 3).fill(zip(whole, coalitions, strict=True))
    evaluator = LocalEvaluator(model, 3, node_budget=40)
    evaluator.fill(zip(parts, coalitions, strict=True))
    for one, other in zip(whole, parts, strict=True):
        assert one.worth == pytest.approx(other.worth, abs=1e-5)
        assert max(one.worth.values()) - min(one.worth.values()) > 1e-3, "coalitions differ, or equality says nothing"
    nodes = sum(coalition.bit_count() for some in coalitions for coalition in some)
    assert evaluator.states[-1].filled < nodes / 3


def test_memory_of_states_has_an_end_and_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Around a hub hardly two coalitions are alike for any node."""
    monkeypatch.setattr(local_states, "REMEMBERED", 100)
    model = settled(vanilla(**{"backbone.name": "gin"}))
    graphs = packed([(10, [(0, leaf) for leaf in range(1, 10)])] * 2, [0, 1])
    graphs = replace(graphs, x=torch.arange(20).unsqueeze(1).remainder(3))
    whole, parts = games_of(graphs), games_of(graphs)
    coalitions = [range(1, 1 << game.num_nodes) for game in whole]
    Evaluator(lambda x, e, b, edge_attr: model(x, e, b, edge_attr).exp(), 3).fill(zip(whole, coalitions, strict=True))
    evaluator = LocalEvaluator(model, 3, node_budget=200)
    evaluator.fill(zip(parts, coalitions, strict=True))
    assert max(layer.filled for layer in evaluator.states[1:]) <= 100 + 210
    for one, other in zip(whole, parts, strict=True):
        assert one.worth == pytest.approx(other.worth, abs=1e-5)


def test_remembered_states_know_directions_and_more_than_64_nodes() -> None:
    """A long directed path with a fork: what lies downstream of a node must not matter to it, what is upstream must."""
    count = 70
    edges = torch.tensor([[i, i + 1] for i in range(count - 1)] + [[0, 65]]).T
    edges = edges[:, torch.argsort(edges[1] * count + edges[0])]
    x = torch.arange(count).remainder(3).unsqueeze(1)
    fields = {"edge_attr": torch.arange(edges.shape[1]).remainder(2).unsqueeze(1)}
    model = settled(vanilla(**{"backbone.name": "gcn"}))
    one, other = (Game(x, edges, 1, edge_fields=fields) for _ in range(2))
    everyone = one.everyone
    coalitions = [everyone, everyone ^ 1, everyone ^ 1 << 69, everyone ^ 1 << 64, everyone ^ 1 << 66, 1 << 64 | 1 << 65]
    Evaluator(lambda x, e, b, edge_attr: model(x, e, b, edge_attr).exp(), 3).fill([(one, coalitions)])
    LocalEvaluator(model, 3).fill([(other, coalitions)])
    assert one.worth == pytest.approx(other.worth, abs=1e-5)
    assert len({round(value, 6) for value in one.worth.values()}) == len(coalitions) + 1


def test_the_model_sees_each_coalition_once() -> None:
    seen = 0

    def probabilities(x: Tensor, edge_index: Tensor, batch: Tensor, edge_attr: Tensor) -> Tensor:
        nonlocal seen
        seen += int(batch.max()) + 1
        return torch.full((int(batch.max()) + 1, 3), 1 / 3)

    (game,) = games_of(shapes(1))
    evaluator = Evaluator(probabilities, 3)
    evaluator.fill([(game, [1, 2, 3, 3, 0])])
    evaluator.fill([(game, [3, 2, 4])])
    assert (evaluator.asked, evaluator.evaluated, seen) == (8, 4, 4)
    assert game.worth[0] == pytest.approx(1 / 3), "nothing is shown to no model"


def test_of_equal_nodes_only_the_number_counts() -> None:
    """A star of equal leaves has 2 (hub or not) times 5 (how many leaves) different coalitions, less the empty one."""
    star = torch.tensor([[0, a] for a in range(1, 5)] + [[a, 0] for a in range(1, 5)]).T
    game, model = Game(torch.ones(5, 4), star, 0), Plain().eval()
    evaluator = Evaluator(lambda x, e, b: model(x, e, b).softmax(-1), 3)
    evaluator.fill([(game, range(32))])
    assert (evaluator.asked, evaluator.evaluated, len(game.worth)) == (32, 9, 32)
    assert game.worth[0b00111] == game.worth[0b11001]
    other = Game(game.x, star, 0, edge_fields={"edge_weight": torch.tensor([1.0, 1, 1, 2, 1, 1, 1, 2])})
    assert other.canonical(0b10001) == 0b10001, "the edge of the last leaf differs"
    assert other.canonical(0b01001) == 0b00011


def test_zero_is_no_category() -> None:
    with pytest.raises(InvalidConfig, match="0 is a category too"):
        explained(vanilla(), SubgraphX(replace(QUICK, filling="zero_filling")), shapes(1), "log_probs")
    with pytest.raises(InvalidConfig, match="choose one of these"):
        SubgraphX(replace(QUICK, filling="nothing"))


# ------------------------------------------------------------------------ the search


def linear_game(weights: list[float], edges: list[tuple[int, int]]) -> tuple[Game, Evaluator]:
    """The worth of a coalition is the sum of its members' weights, so its Shapley value is too."""
    both = torch.tensor([*edges, *((b, a) for a, b in edges)]).T
    game = Game(torch.tensor(weights).unsqueeze(1), both, 0)

    def sums(x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return torch.zeros(int(batch.max()) + 1, 1).index_add_(0, batch, x)

    return game, Evaluator(sums, 1, splits=False)


def test_search_finds_the_best_small_connected_subgraph() -> None:
    """On a path, where only ends can go, the heavy stretch at 2, 3, 4 is the only good one of at most three nodes."""
    game, evaluator = linear_game([0.0, -0.1, 0.5, 0.6, 0.4, -0.3, 0.1], [(i, i + 1) for i in range(6)])
    config = SubgraphXConfig(rollouts=20, samples=64, min_nodes=3, sparsity=0.5)
    (best,) = evaluator.play([game], lambda game: TreeSearch(game, config).run())
    assert list(members(best.nodes)) == [2, 3, 4]
    assert best.score == pytest.approx(1.5)


def test_scores_nobody_needs_are_not_computed() -> None:
    game, evaluator = linear_game([0.1] * 12, [(i, i + 1) for i in range(11)])
    searches = []

    def start(game: Game):
        searches.append(TreeSearch(game, SubgraphXConfig(rollouts=1, samples=8)))
        return searches[0].run()

    evaluator.play([game], start)
    scored = [state.nodes.bit_count() for state in searches[0].states.values() if not isnan(state.score)]
    assert max(scored) <= 6 < max(state.nodes.bit_count() for state in searches[0].states.values())


def test_players_far_away_stay_in_every_coalition() -> None:
    game, _ = linear_game([1.0] * 9, [(i, i + 1) for i in range(8)])
    search = TreeSearch(game, SubgraphXConfig(radius=2, samples=4, min_nodes=1))
    wanted = list(next(search.ask_scores([search.state(0b1)])))
    assert sorted(wanted) == [0b111111100, 0b111111101, 0b111111110, 0b111111111]


def test_every_node_is_in_a_sampled_game() -> None:
    (game,) = games_of(packed([(12, [(i, i + 1) for i in range(10)])], [0]))  # node 11 is alone
    samples = sampled_nodes(game, GStarXConfig(max_sample_size=4), seed=0)
    assert all(sample.bit_count() <= 4 for sample in samples)
    union = 0
    for sample in samples:
        union |= sample
    assert union == game.everyone


def test_best_nodes_are_positive_and_few() -> None:
    mask = best_nodes(torch.tensor([0.4, -1.0, 0.2, 0.1, 0.0, -0.5]), 0.5)
    assert mask.tolist() == pytest.approx([1, 0, 0.5, 0.25, 0, 0])
    assert best_nodes(torch.tensor([-2.0, -1.0]), 0.5).tolist() == [0, 1]


def test_what_rounding_leaves_of_nothing_is_no_value_of_a_node() -> None:
    scores = torch.tensor([0.25, -3e-16, -7e-17, 2e-16, 0.25, -2e-16], dtype=torch.double)
    assert best_nodes(scores, 0.5).tolist() == [1, 0, 0, 0, 1, 0]


# ------------------------------------------------------------------------ through PyG's Explainer


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("layer", LAYERS)
def test_masks_are_valid_and_a_plain_model_is_left_as_it_was(algorithm: CoalitionExplainer, layer: str) -> None:
    graphs = packed(
        [(1, []), (6, [(0, 1), (1, 2), (3, 4), (4, 5)]), (5, [(0, i) for i in range(1, 5)])], [0, 1, 2], NUMBERS
    )
    model = Plain(layer).train()
    before = copy.deepcopy(model.state_dict())
    found = explained(model, algorithm, graphs)
    for mask in (found.node_mask, found.edge_mask):
        assert ((mask >= 0) & (mask <= 1)).all()
    assert torch.equal(found.edge_mask, found.node_mask[found.edge_index, 0].amin(0))
    starts = graphs.node_ptr.tolist()
    assert all(found.node_mask[a:b].max() == 1 for a, b in pairwise(starts))
    assert model.training
    assert model.dropout.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(weight.requires_grad and weight.grad is None for weight in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin"])
def test_our_classifiers_with_types_of_nodes_and_edges(algorithm: CoalitionExplainer, backbone: str) -> None:
    graphs = packed([(1, []), (6, [(0, 1), (1, 2), (3, 4), (4, 5)]), (5, [(0, i) for i in range(1, 5)])], [0, 1, 2])
    found = explained(vanilla(**{"backbone.name": backbone}), algorithm, graphs, "log_probs")
    assert found.validate()
    assert set(found.node_mask[:1].flatten().tolist()) == {1.0}, "the only node is the explanation"


@pytest.mark.parametrize("method", ["graphfnp", "mc-dropout"])
def test_classifiers_that_draw(method: str) -> None:
    torch.manual_seed(0)
    model = make_classifier(method, TYPED, small(method))
    assert explained(model, SubgraphX(QUICK), shapes(2), "log_probs").validate()


@pytest.mark.parametrize("kind", [SubgraphX, GStarX])
def test_same_seed_same_explanation_alone_or_beside_others(kind) -> None:
    config = QUICK if kind is SubgraphX else GStarXConfig(max_sample_size=4)
    graphs, model = shapes(5, least=8), vanilla()
    together = explained(model, kind(config, seed=3), graphs, "log_probs").node_mask
    again = explained(model, kind(config, seed=3), graphs, "log_probs").node_mask
    assert torch.equal(together, again)
    start, end = graphs.node_ptr[2:4].tolist()
    alone = explained(model, kind(config, seed=3), graphs.select([2]), "log_probs").node_mask
    assert torch.allclose(together[start:end], alone, atol=1e-4)


def test_only_the_graphs_asked_for_are_explained() -> None:
    graphs = shapes(3, NUMBERS)
    found = explained(Plain(), SubgraphX(QUICK), graphs, index=1)
    start, end = graphs.node_ptr[1:3].tolist()
    assert found.node_mask[start:end].any()
    assert found.node_mask.sum() == found.node_mask[start:end].sum()


def test_binary_models_with_one_output() -> None:
    class Binary(Plain):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return super().forward(x, edge_index, batch)[:, :1]

    explainer = Explainer(
        Binary(), SubgraphX(QUICK), "model", node_mask_type="object",
        model_config={"mode": "binary_classification", "task_level": "graph", "return_type": "raw"},
    )  # fmt: skip
    batch = shapes(2, NUMBERS).batch()
    assert explainer(batch.x, batch.edge_index, batch=batch.batch).validate()


def test_a_model_without_batch_is_a_clear_error() -> None:
    class Alone(Plain):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:  # type: ignore[override]
            return super().forward(x, edge_index, torch.zeros(len(x), dtype=torch.long))

    explainer = Explainer(
        Alone(), SubgraphX(QUICK), "model", node_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )  # fmt: skip
    batch = shapes(1, NUMBERS).batch()
    with pytest.raises(InvalidConfig, match="takes no batch"):
        explainer(batch.x, batch.edge_index)


def test_regression_is_not_explained() -> None:
    with pytest.raises(ValueError, match="does not support"):
        Explainer(
            Plain(), SubgraphX(QUICK), "model", node_mask_type="object",
            model_config={"mode": "regression", "task_level": "graph", "return_type": "raw"},
        )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "is_taken_apart"),
    [("vanilla", True), ("focal", True), ("mc-dropout", False), ("laplace", False), ("gsat", False)],
)
def test_a_method_says_whether_its_predictions_are_a_head_on_mean_node_states(
    method: str, is_taken_apart: bool
) -> None:
    classifier = make_classifier(method, TYPED)
    assert (classifier.mean_pooled_network() is not None) == is_taken_apart
