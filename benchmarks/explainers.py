"""SubgraphX and GStarX beside their textbook form: ``python benchmarks/explainers.py [--dataset ba2motifs] [--json]``.

Both sides explain the same graphs of one trained network at the published settings, with the same random draws.
Textbook: one forward pass for each coalition, every score when its subgraph is first met, no memory of coalitions; for
GStarX all 2^n coalitions, and the limit of the associated games by squaring their matrix. Ours: coalitions of all
graphs in batches, each seen once, scores when a choice depends on them, the limit in closed form. "any model" is what a
PyG model of the user's gets; vanilla classifiers have "remembered states" of nodes. The answers must be equal.
Time is processor time, so that others on the machine change little.
"""

import time
from collections.abc import Callable
from math import sqrt

import numpy as np
import torch

from graphfnp.datasets.load import load
from graphfnp.explainers.coalitions import Evaluator, Game
from graphfnp.explainers.gstarx import GStarXConfig, node_scores, sampled_nodes
from graphfnp.explainers.local_states import LocalEvaluator
from graphfnp.explainers.node_sets import NodeSet, components, members, reached
from graphfnp.explainers.subgraphx import (
    SubgraphXConfig,
    TreeSearch,
    drawn_coalitions,
    predecessors,
    subgraphx_settings,
)
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train
from side_by_side import options, record, row

TAU = 0.01
SQUARINGS = 16
EQUAL = 1e-4  # how far float noise may move a score


class OneAtATime:
    """The worth of a coalition by a forward pass of its own, every time it is asked for."""

    def __init__(self, classifier: torch.nn.Module, game: Game, num_classes: int) -> None:
        self.classifier, self.game, self.num_classes, self.passes = classifier, game, num_classes, 0

    @torch.no_grad()
    def __call__(self, coalition: NodeSet) -> float:
        if not coalition:
            return 1 / self.num_classes
        game, nodes = self.game, torch.tensor(list(members(coalition)))
        inside = torch.zeros(game.num_nodes, dtype=torch.bool)
        inside[nodes] = True
        edges = inside[game.edge_index].all(0)
        edge_index = (inside.cumsum(0) - 1)[game.edge_index[:, edges]]
        fields = {name: value[edges] for name, value in game.edge_fields.items()}
        self.passes += 1
        output = self.classifier(game.x[nodes], edge_index, torch.zeros_like(nodes), **fields, num_draws=1)
        return float(output[0, game.target].exp())


def textbook_subgraphx(game: Game, worth: Callable[[NodeSet], float], config: SubgraphXConfig) -> list[float]:
    """Monte Carlo tree search as the paper tells it."""
    draws = drawn_coalitions(game.num_nodes, config.samples)
    score: dict[NodeSet, float] = {}
    children: dict[NodeSet, list[NodeSet]] = {}
    visits: dict[NodeSet, int] = {}
    reward: dict[NodeSet, float] = {}

    def shapley(nodes: NodeSet) -> float:
        region = reached(nodes, game.neighbours, hops=config.radius - 1)
        away, total = game.everyone & ~region, 0.0
        for part, weight in predecessors(region & ~nodes, draws).items():
            total += weight * (worth(part | nodes | away) - worth(part | away))
        return round(total, 6)

    def expand(nodes: NodeSet) -> list[NodeSet]:
        parts = components(nodes, game.neighbours)
        if len(parts) == 1:
            by_degree = sorted(members(nodes), key=lambda node: (game.neighbours[node] & nodes).bit_count())
            left = [components(nodes & ~(1 << node), game.neighbours) for node in by_degree[: config.expand]]
            parts = [max(some, key=int.bit_count) for some in left]
        return list(dict.fromkeys(parts))

    def rollout(nodes: NodeSet) -> float:
        if nodes.bit_count() <= config.min_nodes:
            return score[nodes]
        if nodes not in children:
            children[nodes] = expand(nodes)
            for child in children[nodes]:
                if child not in score:
                    score[child], visits[child], reward[child] = shapley(child), 0, 0.0
        total = sum(visits[child] for child in children[nodes])

        def promise(child: NodeSet) -> float:
            mean = reward[child] / visits[child] if visits[child] else 0.0
            return mean + config.exploration * score[child] * sqrt(total) / (1 + visits[child])

        chosen = max(children[nodes], key=promise)
        result = rollout(chosen)
        visits[chosen] += 1
        reward[chosen] += result
        return result

    score[game.everyone] = shapley(game.everyone)
    for _ in range(config.rollouts):
        rollout(game.everyone)
    limit = max(1, int((1 - config.sparsity) * game.num_nodes))
    small = [nodes for nodes in score if nodes.bit_count() <= limit] or [min(score, key=int.bit_count)]
    best = max(small, key=lambda nodes: (score[nodes], -nodes.bit_count()))
    return [float(best), score[best]]


def textbook_gstarx(game: Game, worth: Callable[[NodeSet], float], config: GStarXConfig) -> list[float]:
    """The limit of v' = P M P v on the nodes of every sampled game, coalition by coalition."""
    total, count, average = np.zeros(game.num_nodes), np.zeros(game.num_nodes), worth(0)
    for sample in sampled_nodes(game, config, 0):
        players = list(members(sample))
        sets = [sum(1 << players[k] for k in members(code)) for code in range(1, 1 << len(players))]
        place = {nodes: k for k, nodes in enumerate(sets)}
        step, parts = np.eye(len(sets)), np.zeros((len(sets), len(sets)))
        for nodes in sets:
            row = place[nodes]
            parts[row, [place[part] for part in components(nodes, game.neighbours)]] = 1
            for node in members(sample & ~nodes):
                step[row, place[nodes | 1 << node]] += TAU
                step[row, row] -= TAU
                step[row, place[1 << node]] -= TAU
        whole = parts @ step @ parts
        for _ in range(SQUARINGS):
            whole = whole @ whole
        values = whole @ np.array([worth(nodes) - average for nodes in sets])
        total[players] += values[[place[1 << node] for node in players]]
        count[players] += 1
    return (total / count).tolist()


def games_of(classifier: torch.nn.Module, graphs: PackedGraphs) -> list[Game]:
    """A game for each graph, about the class the model predicts."""
    games = []
    for number in range(len(graphs)):
        batch = graphs.batch([number])
        fields = {} if batch.edge_attr is None else {"edge_attr": batch.edge_attr}
        with torch.no_grad():
            target = int(classifier(batch.x, batch.edge_index, batch.batch, **fields, num_draws=1).argmax())
        games.append(Game(batch.x, batch.edge_index, target, edge_fields=fields))
    return games


def near(graphs: PackedGraphs, nodes: int, count: int) -> PackedGraphs:
    """The graphs whose size is closest to this."""
    return graphs.select(torch.argsort((graphs.sizes - nodes).abs(), stable=True)[:count])


def per_graph(work: Callable[..., list], *given: object) -> tuple[float, list]:
    """Processor seconds for each item of the list that the work gives back, and the list."""
    start = time.process_time()
    found = work(*given)
    return (time.process_time() - start) / max(len(found), 1), found


def equal(ours: list[float], textbook: list[float]) -> bool:
    return bool(np.allclose(ours, textbook, atol=EQUAL, rtol=0))


def main() -> None:
    parser = options(__doc__, rounds=1)
    parser.add_argument("--dataset", default="bbbp", help="bbbp or ba2motifs")
    parser.add_argument("--graphs", type=int, default=6, help="graphs our side explains")
    parser.add_argument("--nodes", type=int, default=28, help="about how large these are")
    parser.add_argument("--textbook", type=int, default=1, help="graphs that the textbook explains too")
    parser.add_argument("--small", type=int, default=12, help="about how large those are, or nobody would see the end")
    parser.add_argument("--epochs", type=int, default=5)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    dataset = load(chosen.dataset)
    classifier = make_classifier("vanilla", dataset.graphs.schema)
    train(classifier, dataset.train, dataset.validation, TrainingConfig(epochs=chosen.epochs, finishing_epochs=0))
    classifier.eval()
    graphs, small = near(dataset.test, chosen.nodes, chosen.graphs), near(dataset.test, chosen.small, chosen.textbook)
    classes = graphs.num_classes
    subgraphx, gstarx = subgraphx_settings(graphs.schema), GStarXConfig()

    def tree_search(game: Game):
        best = yield from TreeSearch(game, subgraphx).run()
        return [float(best.nodes), best.score]

    def values(game: Game):
        return (yield from node_scores(game, gstarx))

    evaluators: dict[str, Callable[[], Evaluator]] = {
        "remembered states": lambda: LocalEvaluator(classifier, classes),  # type: ignore[arg-type]
        "any model": lambda: Evaluator(lambda *a, **k: classifier(*a, **k, num_draws=1).exp(), classes),
    }
    sides = {"SubgraphX": (tree_search, textbook_subgraphx, subgraphx), "GStarX": (values, textbook_gstarx, gstarx)}
    ratios: dict[str, float] = {}
    seconds: dict[str, float] = {}
    count = len(graphs)
    print(f"{count} graphs of {len(graphs.x) / count:.1f} nodes of {chosen.dataset}, 3 x 256 GCN")
    for name, (search, textbook, settings) in sides.items():
        first = games_of(classifier, small)
        worths = [OneAtATime(classifier, game, classes) for game in first]
        slow, answers = per_graph(lambda *one: list(map(*one)), textbook, first, worths, [settings] * len(first))
        for kind, make in evaluators.items():
            evaluator, key = make(), f"{name}, {kind}"
            seconds[key], _ = per_graph(evaluator.play, games_of(classifier, graphs), search)
            asked, seen = evaluator.asked / count, evaluator.evaluated / count
            print(f"{key}: {seconds[key]:.2f} s a graph; of {asked:.0f} coalitions the model saw {seen:.0f}")
            if first:
                quick, found = per_graph(make().play, games_of(classifier, small), search)
                assert all(map(equal, found, answers)), f"{name}: {found} beside the textbook's {answers}"
                ratios[key] = slow / quick
                passes = sum(worth.passes for worth in worths) / len(first)
                print(
                    f"  textbook: {slow:.1f} s a graph, {passes:.0f} passes; ours on these {quick:.2f} s, equal answers"
                )
                print(f"  {ratios[key]:.0f} times faster")
    if chosen.json:
        rounded = {name: float(f"{value:.3g}") for name, value in seconds.items()}
        name = "explainers" if chosen.dataset == "bbbp" else f"explainers_{chosen.dataset}"
        table = [
            row(
                f"{one}, {chosen.dataset}",
                f"{seconds[one]:.2f} s a graph",
                "the textbook's search",
                ratio,
                "times faster",
            )
            for one, ratio in ratios.items()
        ]
        record(
            name, ratios, table, seconds_a_graph=rounded, threads=1, graphs=count,
            nodes=round(len(graphs.x) / count, 1),
            textbook_nodes=round(len(small.x) / max(len(small), 1), 1), dataset=chosen.dataset,
        )  # fmt: skip


if __name__ == "__main__":
    main()
