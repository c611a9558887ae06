"""GNNInterpreter (Wang and Shen 2023): a distribution over graphs, learned to give graphs typical of a class."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import log

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, gumbel_softmax
from torch_geometric.explain.algorithm.utils import set_masks

from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.explainers.building_blocks import BuildingBlocks
from graphfnp.explainers.centroids import PER_CLASS
from graphfnp.explainers.untouched import untouched
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.pointers import pointers
from graphfnp.graphs.structure import Structure, largest_piece
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales
from graphfnp.networks.features import NodeInput
from graphfnp.prediction.predict import collect
from graphfnp.randomness import isolated


@dataclass(frozen=True)
class GNNInterpreterConfig:
    """Sizes of the distribution, and the weights of its objective."""

    nodes: int = 8  # at most
    steps: int = 200
    draws: int = 4  # graphs of every distribution in a step
    learning_rate: float = 0.1
    temperature: float = 0.5
    similarity_weight: float = 1.0  # of the cosine to the class's mean embedding
    edge_budget: float = 9.0
    size_weight: float = 1.0  # of the squared excess over the budget
    room_weight: float = 1.0  # of edges beyond what a node bears
    candidates: int = 50  # graphs of every learned distribution, of which the best is kept
    smallest: int = 3  # nodes, where a distribution gives any so large


@dataclass(frozen=True, eq=False)
class Drawn:
    """Graphs drawn from distributions: choices are 0 or 1, and carry the gradient of the relaxed choice."""

    node: Tensor  # [graphs, nodes, kinds]
    edge: Tensor  # [graphs, pairs, 1 + edge kinds]; the first choice is "no edge"
    pairs: Tensor  # [2, pairs]: the nodes that an edge would join


class GraphDistributions(nn.Module):
    """p(G) = prod_v Categorical(kind of v) prod_uv Categorical(no edge, or its kind): one for each rationale."""

    def __init__(self, count: int, nodes: int, blocks: BuildingBlocks) -> None:
        super().__init__()
        self.pairs = torch.triu_indices(nodes, nodes, 1)  # [2, pairs]
        self.kind = nn.Parameter(blocks.frequency.log() + 0.1 * torch.randn(count, nodes, len(blocks.node_type)))
        pairs, edge_kinds = self.pairs.shape[1], len(blocks.order)
        edge = 0.1 * torch.randn(count, pairs, 1 + edge_kinds)
        edge[..., 0] += log(max(pairs / nodes - 1, 0.1) * edge_kinds)  # as many edges as nodes, to begin with
        self.edge = nn.Parameter(edge)

    def draw(self, draws: int, temperature: float) -> Drawn:
        """``draws`` graphs of the first distribution, then of the next ones."""
        logits = (self.kind.repeat_interleave(draws, 0), self.edge.repeat_interleave(draws, 0))
        node, edge = (gumbel_softmax(scores, temperature, hard=True) for scores in logits)
        return Drawn(node, edge, self.pairs)


def interpreter_rationales(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    config: GNNInterpreterConfig | None = None,
    per_class: int = PER_CLASS,
    seed: int = 0,
) -> Rationales:
    """``per_class`` graphs for each class, each the best of a learned distribution.

    max E[log p(class | G) + mu cos(embedding of G, mean embedding of the class)] - penalties for edges beyond the
    budget and beyond what nodes bear in training graphs (for molecules their valence). Forward passes see real graphs;
    the gradient is that of the concrete relaxation. The paper has the class's logit in place of log p, norms of the
    parameters, and a term for connected graphs, in place of which the largest piece is taken.
    """
    config = config or GNNInterpreterConfig()
    blocks = BuildingBlocks.of(graphs, distinct_features=True)
    classes = classifier.schema.num_classes
    label = torch.arange(classes).repeat_interleave(per_class)
    centre = class_means(classifier, graphs)[label]
    with untouched(classifier), isolated(seed, "gnn-interpreter"):
        learned = GraphDistributions(len(label), config.nodes, blocks)
        optimiser = torch.optim.Adam(learned.parameters(), lr=config.learning_rate)
        for _ in range(config.steps):
            drawn = learned.draw(config.draws, config.temperature)
            log_probability, similarity = _seen(classifier, blocks, drawn, label, centre)
            score = (log_probability + config.similarity_weight * similarity).view(-1, config.draws)
            # Distributions share no weight: the sum of their losses trains each by itself.
            loss = _penalty(learned, blocks, config).sum() - score.mean(1).sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        with torch.no_grad():
            final = learned.draw(config.candidates, config.temperature)
        structures = [_structure(blocks, final, g) for g in range(len(final.node))]
    return _best(classifier, blocks, structures, label, centre, config)


@torch.no_grad()
def class_means(classifier: GraphClassifier, graphs: PackedGraphs) -> Tensor:
    """[classes, dims]: the mean embedding of the graphs the model puts in each class; of all where it puts none."""
    seen = collect(classifier, graphs)
    label = seen.logits.softmax(-1).mean(0).argmax(-1)
    members = [seen.embedding[label == k] for k in range(classifier.schema.num_classes)]
    return torch.stack([(part if len(part) else seen.embedding).mean(0) for part in members])


def _seen(
    classifier: GraphClassifier, blocks: BuildingBlocks, drawn: Drawn, label: Tensor, centre: Tensor
) -> tuple[Tensor, Tensor]:
    """[graphs], [graphs]: log p(class) and cosine to the centre; gradients reach the drawn choices."""
    batch, mask, node = _batch(blocks, drawn)
    draws = batch.num_graphs // len(label)  # of each rationale
    with _relaxed_inputs(classifier, blocks, batch, mask, node):
        encoded = classifier.encode(batch)
        embedding = classifier.embed(encoded)
        logits = classifier.draw_logits(encoded, 8)
    log_probability = logits.log_softmax(-1).mean(0).gather(1, label.repeat_interleave(draws)[:, None]).squeeze(1)
    return log_probability, cosine_similarity(embedding, centre.repeat_interleave(draws, 0))


def _batch(blocks: BuildingBlocks, drawn: Drawn) -> tuple[Batch, Tensor, Tensor]:
    """The drawn graphs without isolated nodes; the choice of each edge [edges] and of each node [nodes, kinds]."""
    graphs, nodes, _ = drawn.node.shape
    graph, pair = torch.where(drawn.edge[..., 0] < 0.5)
    kind = drawn.edge[graph, pair, 1:].argmax(-1)
    ends = drawn.pairs[:, pair] + graph * nodes  # [2, undirected edges]
    used = torch.zeros(graphs * nodes, dtype=torch.bool)
    used[ends.flatten()] = True
    used.view(graphs, nodes)[:, 0] |= ~used.view(graphs, nodes).any(1)  # a graph has at least one node
    number = used.cumsum(0) - 1
    both = number[torch.cat([ends, ends.flip(0)], dim=1)]
    order = torch.argsort(both[1] * (int(number[-1]) + 1) + both[0])
    edge_index = both[:, order]
    owner = torch.arange(graphs).repeat_interleave(nodes)[used]
    ptr = pointers(torch.bincount(owner, minlength=graphs))
    choice = drawn.node.flatten(0, 1)[used]
    x = blocks.schema.refeaturised(blocks.rows[choice.argmax(-1)], edge_index)
    edge_attr = blocks.edge_rows[kind.repeat(2)[order]] if blocks.schema.edge_sizes else None
    mask = drawn.edge[graph, pair, 1 + kind].repeat(2)[order]
    return Batch(x, edge_index, owner, ptr, torch.full((graphs,), -1), edge_attr, undirected=False), mask, choice


@contextmanager
def _relaxed_inputs(
    classifier: GraphClassifier, blocks: BuildingBlocks, batch: Batch, mask: Tensor, node: Tensor
) -> Iterator[None]:
    """Inside, messages carry the gradient of the edges' choices, and node inputs that of the nodes' choices.

    Where the feature is the degree, one edge more changes a node's input to that of the next degree.
    """

    def add_gradient(module: NodeInput, _: tuple[Tensor], out: Tensor) -> Tensor:
        if blocks.schema.counts_degrees:
            degree = torch.zeros(len(out)).index_add(0, batch.edge_index[1], mask)
            change = module.embedding((batch.x + 1).clamp(max=blocks.schema.node_sizes[0] - 1)) - out
            return out + (degree - degree.detach())[:, None] * change
        mixed = node @ module.embedding(blocks.rows)
        return out + mixed - mixed.detach()

    inputs = [module for module in classifier.modules() if isinstance(module, NodeInput)]
    hooks = [module.register_forward_hook(add_gradient) for module in inputs]
    if len(mask):
        set_masks(classifier, mask, batch.edge_index, apply_sigmoid=False)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _penalty(learned: GraphDistributions, blocks: BuildingBlocks, config: GNNInterpreterConfig) -> Tensor:
    """[rationales]: expected edges beyond the budget, squared, and expected edges at a node beyond its room."""
    edge = learned.edge.softmax(-1)[..., 1:]
    weight = edge @ blocks.order.float()
    at_node = torch.zeros(len(weight), config.nodes)
    at_node = at_node.index_add(1, learned.pairs[0], weight).index_add(1, learned.pairs[1], weight)
    room = learned.kind.softmax(-1) @ blocks.room.float()
    excess = torch.relu(edge.sum((1, 2)) - config.edge_budget)
    return config.size_weight * excess.square() + config.room_weight * torch.relu(at_node - room).sum(1)


def _structure(blocks: BuildingBlocks, drawn: Drawn, graph: int) -> Structure:
    """The largest connected piece of a drawn graph."""
    choice = drawn.edge[graph].argmax(-1)
    edges = [(*drawn.pairs[:, pair].tolist(), int(choice[pair]) - 1) for pair in torch.where(choice > 0)[0].tolist()]
    return largest_piece(blocks.structure(drawn.node[graph].argmax(-1).tolist(), edges))


@torch.no_grad()
def _best(
    classifier: GraphClassifier,
    blocks: BuildingBlocks,
    structures: list[Structure],
    label: Tensor,
    centre: Tensor,
    config: GNNInterpreterConfig,
) -> Rationales:
    """Of each distribution's graphs the one of highest score that is large enough and, if it can be, valid."""
    seen = collect(classifier, graphs_from_structures(structures, classifier.schema))
    count = config.candidates
    probability = seen.logits.softmax(-1).mean(0)[torch.arange(len(structures)), label.repeat_interleave(count)]
    similarity = cosine_similarity(seen.embedding, centre.repeat_interleave(count, 0))
    score = probability.log().clamp(min=-50) + config.similarity_weight * similarity
    unfit = [s.num_nodes < config.smallest or not blocks.is_valid(s) for s in structures]
    score = (score - 1000 * torch.tensor(unfit).float()).view(-1, count)
    chosen = score.argmax(1) + count * torch.arange(len(label))
    kept = tuple(structures[c] for c in chosen.tolist())
    return Rationales(seen.embedding[chosen], label, kept, probability[chosen], similarity[chosen])
