"""XGNN (Yuan et al. 2020): a policy that builds, edge by edge, graphs the model is sure of; model-level."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.explainers.building_blocks import BuildingBlocks
from graphfnp.explainers.centroids import PER_CLASS
from graphfnp.explainers.untouched import untouched
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import collect
from graphfnp.randomness import isolated


@dataclass(frozen=True)
class XGNNConfig:
    """The published settings; ``width`` is that of the policy's node states."""

    nodes: int = 6
    steps: int = 30
    iterations: int = 50
    learning_rate: float = 0.01
    rollouts: int = 10
    rollout_weight: float = 2.0  # alpha
    width: int = 32
    smallest: int = 3  # nodes of a graph that may be kept: one node is no structure


@dataclass(frozen=True, eq=False)
class Sketches:
    """Graphs that grow, side by side: G generators with M graphs each."""

    kind: Tensor  # [G, M, nodes], -1: no node yet
    edge: Tensor  # [G, M, nodes, nodes]: 0 = no edge, else 1 + kind of edge

    @property
    def size(self) -> Tensor:
        return (self.kind >= 0).sum(-1)

    def repeated(self, times: int) -> "Sketches":
        return Sketches(self.kind.repeat(1, times, 1), self.edge.repeat(1, times, 1, 1))

    def where(self, chosen: Tensor, other: "Sketches") -> "Sketches":
        """These graphs where ``chosen`` [G, M], else the other ones."""
        return Sketches(
            torch.where(chosen[..., None], self.kind, other.kind),
            torch.where(chosen[..., None, None], self.edge, other.edge),
        )


class Policies(nn.Module):
    """A policy for each of G generators: p(start) p(end | start) p(edge | start, end); ends are nodes or new kinds."""

    def __init__(self, generators: int, blocks: BuildingBlocks, width: int) -> None:
        super().__init__()
        self.blocks, kinds = blocks, len(blocks.node_type)

        def weights(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(generators, *shape) / shape[0] ** 0.5)

        self.embedding, self.own, self.around = weights(kinds, width), weights(width, width), weights(width, width)
        self.own2, self.around2 = weights(width, width), weights(width, width)
        self.start = weights(width, 1)
        self.end, self.end2 = weights(2 * width, width), weights(width, 1)
        self.edge = weights(2 * width, len(blocks.order))

    def step(self, graphs: Sketches) -> tuple[Sketches, Tensor, Tensor]:
        """The graphs after one action each, its log-probability [G, M], and whether it was allowed [G, M]."""
        there, states = graphs.kind >= 0, self._states(graphs)
        start, log_start = _draw((states @ self.start[:, None]).squeeze(-1), there)
        from_ = _pick(states, start)
        new = self.embedding[:, None].expand(-1, states.shape[1], -1, -1)
        ends = torch.cat([states, new], dim=2)  # nodes that are there, and kinds that may come
        nodes = there.shape[-1]
        may_grow = (graphs.size < nodes)[..., None].expand(-1, -1, new.shape[2])
        may_end = torch.cat([there & (torch.arange(nodes) != start[..., None]), may_grow], dim=-1)
        pairs = torch.cat([ends, from_[:, :, None].expand_as(ends)], dim=-1)
        end, log_end = _draw((torch.relu(pairs @ self.end[:, None]) @ self.end2[:, None]).squeeze(-1), may_end)
        scores = (torch.cat([_pick(ends, end), from_], dim=-1)[:, :, None] @ self.edge[:, None]).squeeze(2)
        edge, log_edge = _draw(scores, torch.ones_like(scores, dtype=torch.bool))
        after, allowed = self._act(graphs, start, end, edge)
        return after, log_start + log_end + log_edge, allowed

    def _states(self, graphs: Sketches) -> Tensor:
        """[G, M, nodes, width]: two rounds of messages."""
        rows = torch.arange(len(graphs.kind))[:, None, None]
        h = self.embedding[rows, graphs.kind.clamp(min=0)]
        linked = (graphs.edge > 0).float()
        linked = linked / linked.sum(-1, keepdim=True).clamp(min=1)
        h = torch.relu(h @ self.own[:, None] + linked @ h @ self.around[:, None])
        return torch.relu(h @ self.own2[:, None] + linked @ h @ self.around2[:, None])

    def _act(self, graphs: Sketches, start: Tensor, end: Tensor, edge: Tensor) -> tuple[Sketches, Tensor]:
        kind, links, nodes = graphs.kind.clone(), graphs.edge.clone(), graphs.kind.shape[-1]
        grows = end >= nodes
        place = torch.where(grows, graphs.size.clamp(max=nodes - 1), end)
        g, m = torch.meshgrid(*map(torch.arange, start.shape), indexing="ij")
        kind[g, m, place] = torch.where(grows, end - nodes, kind[g, m, place])
        linked = links[g, m, start, place] > 0
        links[g, m, start, place] = links[g, m, place, start] = edge + 1
        after = Sketches(kind, links)
        weight = torch.cat([self.blocks.order.new_zeros(1), self.blocks.order])[links].sum(-1)
        fits = (weight <= self.blocks.room[kind.clamp(min=0)]) | (kind < 0)
        allowed = ~linked & fits.all(-1)
        return after.where(allowed, graphs), allowed


def xgnn_rationales(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    config: XGNNConfig | None = None,
    per_class: int = PER_CLASS,
    seed: int = 0,
) -> Rationales:
    """``per_class`` graphs for each class, each the surest that a policy of its own met while it learned.

    Reward of an action: p(class) - 1/classes of the graph, + alpha times the same averaged over roll-outs of the
    policy; -1 if it breaks a rule (a node's room, or an edge that is there). Actions of negative reward are taken back.
    The public code adds .1 for every action that is allowed, momentum and weight decay, ends a roll-out that breaks a
    rule with -.1 (here that step is left out), and shows the last graph instead of the surest.
    """
    config = config or XGNNConfig()
    blocks = BuildingBlocks.of(graphs)
    classes = classifier.schema.num_classes
    label = torch.arange(classes).repeat_interleave(per_class)
    with untouched(classifier), isolated(seed, "xgnn"):
        policies, judge = Policies(len(label), blocks, config.width), Judge(classifier, blocks)
        optimiser = torch.optim.SGD(policies.parameters(), lr=config.learning_rate)
        best = Best(len(label), config.smallest)
        for _ in range(config.iterations):
            state = _first_nodes(blocks, len(label), config.nodes)
            for _ in range(config.steps):
                after, log_probability, allowed = policies.step(state)
                with torch.no_grad():
                    ahead = after.repeated(config.rollouts)
                    for _ in range(config.nodes):
                        ahead, _, _ = policies.step(ahead)
                    now, later = judge(after, label), judge(ahead, label)
                    gain = (now - 1 / classes) + config.rollout_weight * (later.mean(1, keepdim=True) - 1 / classes)
                    reward = torch.where(allowed, gain, -1.0)
                best.update(after, now)
                best.update(ahead, later)
                # Generators share no weight: the sum of their losses trains each by itself.
                optimiser.zero_grad()
                (-reward * log_probability).sum().backward()
                optimiser.step()
                state = after.where(allowed & (reward >= 0), state)
        structures = [judge.structure(kind, edge) for kind, edge in best.graphs]
    seen = collect(classifier, graphs_from_structures(structures, classifier.schema))
    probability = seen.logits.softmax(-1).mean(0)[torch.arange(len(label)), label]
    return Rationales(seen.embedding, label, tuple(structures), probability)


class Judge:
    """Asks the model for the probability of each generator's class; a graph it has seen is looked up."""

    def __init__(self, classifier: GraphClassifier, blocks: BuildingBlocks) -> None:
        self.classifier, self.blocks = classifier, blocks
        self.known: dict[bytes, Tensor] = {}

    def __call__(self, graphs: Sketches, label: Tensor) -> Tensor:
        """[G, M]"""
        generators, many, nodes = graphs.kind.shape
        kinds, edges = graphs.kind.view(-1, nodes), graphs.edge.view(-1, nodes, nodes)
        keys = [row.tobytes() for row in torch.cat([kinds, edges.flatten(1)], 1).to(torch.int16).numpy()]
        new = {key: row for row, key in enumerate(keys) if key not in self.known}
        if new:
            rows = list(new.values())
            structures = [self.structure(kinds[row], edges[row]) for row in rows]
            found = collect(self.classifier, graphs_from_structures(structures, self.classifier.schema))
            self.known.update(zip(new, found.logits.softmax(-1).mean(0), strict=True))
        probability = torch.stack([self.known[key] for key in keys]).view(generators, many, -1)
        return probability.gather(-1, label[:, None, None].expand(-1, many, 1)).squeeze(-1)

    def structure(self, kind: Tensor, edge: Tensor) -> Structure:
        links = [(i, j, int(edge[i, j]) - 1) for i, j in torch.triu(edge, 1).nonzero().tolist()]
        return self.blocks.structure(kind[kind >= 0].tolist(), links)


class Best:
    """The surest graph of each generator so far; graphs that are too small count only where there is no other."""

    def __init__(self, generators: int, smallest: int) -> None:
        self.score, self.smallest = torch.full((generators,), -torch.inf), smallest
        self.graphs: list[tuple[Tensor, Tensor]] = [(torch.zeros(1, dtype=torch.long), torch.zeros(1, 1))] * generators

    def update(self, graphs: Sketches, probability: Tensor) -> None:
        score, which = (probability - (graphs.size < self.smallest).float()).max(1)
        for g in torch.where(score > self.score)[0].tolist():
            self.score[g] = score[g]
            self.graphs[g] = (graphs.kind[g, which[g]], graphs.edge[g, which[g]])


def _first_nodes(blocks: BuildingBlocks, generators: int, nodes: int) -> Sketches:
    kind = torch.full((generators, 1, nodes), -1)
    kind[:, 0, 0] = torch.multinomial(blocks.frequency, generators, replacement=True)
    return Sketches(kind, torch.zeros(generators, 1, nodes, nodes, dtype=torch.long))


def _draw(scores: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """[G, M]: a choice by softmax of the scores [G, M, choices], and its log-probability."""
    chances = torch.distributions.Categorical(logits=scores.masked_fill(~allowed, -1e9), validate_args=False)
    choice = chances.sample()
    return choice, chances.log_prob(choice)


def _pick(states: Tensor, which: Tensor) -> Tensor:
    """[G, M, width]: the state of the chosen node."""
    return states.gather(2, which[..., None, None].expand(-1, -1, 1, states.shape[-1])).squeeze(2)
