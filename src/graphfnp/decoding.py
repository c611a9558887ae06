"""The verb ``find_rationales``: what the model looks for, decoded into small graphs and ranked by its own evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.structures import graphs_from_structures
from graphfnp.prediction import TrainedModel, collect
from graphfnp.randomness import stream
from graphfnp.rationales import Rationales, Structure


@dataclass(frozen=True)
class DecodingConfig:
    """How many candidates of which sizes are drawn for a rationale, how they are ranked, and what pruning may cost."""

    candidates: int = 120
    smallest: int = 5
    largest: int = 10
    temperature: float = 0.8
    most_odds: float = 20.0  # log-odds beyond this are all certain
    likelihood_weight: float = 1.0
    tolerance: float = 0.2  # share of its log-odds that a structure may lose with a node


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the model says of structures, each for the rationale beside it."""

    log_odds: Tensor  # of the rationale's class against the others
    probability: Tensor  # of the rationale's class
    similarity: Tensor  # kernel between the re-encoded structure and the rationale
    log_likelihood: Tensor  # of the structure, decoded from the rationale

    def score(self, config: DecodingConfig) -> Tensor:
        return self.log_odds.clamp(max=config.most_odds) + config.likelihood_weight * self.log_likelihood


@torch.no_grad()
def find_rationales(model: TrainedModel, config: DecodingConfig | None = None, seed: int = 0) -> Rationales | None:
    """Decode every rationale: the best of many candidates, then without the nodes its evidence does not need.

    Candidates are ranked by log-odds of the rationale's class + log p(G | rationale, size): what the classifier makes
    of the re-encoded graph, and how natural the decoder finds it.
    """
    config = config or DecodingConfig()
    rationales = model.classifier.rationales()
    if rationales is None:
        return None
    model.classifier.eval()
    generator = stream(seed, "decoding")
    owner = torch.arange(len(rationales)).repeat_interleave(config.candidates)
    sizes = torch.randint(config.smallest, config.largest + 1, (len(owner),), generator=generator)
    structures = model.classifier.decode(rationales.embedding[owner], sizes, config.temperature, generator)
    score = evidence(model, structures, owner).score(config)
    best = [int(torch.where(owner == r, score, -torch.inf).argmax()) for r in range(len(rationales))]
    chosen = [_pruned(model, structures[b], r, config) for r, b in enumerate(best)]
    found = evidence(model, chosen, torch.arange(len(chosen)))
    return replace(
        rationales, structures=tuple(chosen), class_probability=found.probability, similarity=found.similarity
    )


@torch.no_grad()
def evidence(model: TrainedModel, structures: Sequence[Structure], rationale: Tensor) -> Evidence:
    """Re-encode structures and ask the model about each. Calibration is left out: it was fitted on whole graphs."""
    classifier = model.classifier
    rationales = classifier.rationales()
    assert rationales is not None
    graphs = graphs_from_structures(structures, classifier.schema)
    logits = collect(classifier, graphs, num_draws=16).logits
    label = rationales.label[rationale]
    own = torch.nn.functional.one_hot(label, logits.shape[-1]).bool()
    others = logits.masked_fill(own, -torch.inf).logsumexp(-1)
    odds = (logits[:, own] - others).mean(0)
    probability = logits.softmax(-1).mean(0)[own]
    similarity, likelihood = [], []
    for part in torch.arange(len(graphs)).split(512):
        batch = graphs.batch(part)
        similarity.append(classifier.log_similarity(batch, rationale[part]).exp())
        likelihood.append(classifier.log_likelihood(batch, rationale[part]))
    return Evidence(odds, probability, torch.cat(similarity), torch.cat(likelihood))


def _pruned(model: TrainedModel, structure: Structure, rationale: int, config: DecodingConfig) -> Structure:
    """Leave out node after node while the structure stays connected and keeps most of its log-odds."""
    odds = evidence(model, [structure], torch.tensor([rationale])).log_odds
    floor = (1 - config.tolerance) * min(float(odds), config.most_odds)
    while structure.num_nodes > config.smallest:
        smaller = [part for node in range(structure.num_nodes) if (part := without_node(structure, node)) is not None]
        if not smaller:
            break
        found = evidence(model, smaller, torch.full((len(smaller),), rationale))
        kept = torch.where(found.log_odds >= floor, found.score(config), -torch.inf)
        if not torch.isfinite(kept).any():
            break
        structure = smaller[int(kept.argmax())]
    return structure


def without_node(structure: Structure, node: int) -> Structure | None:
    """The structure less one node; None if that would take it apart."""
    edges = [(i, j, kind) for i, j, kind in structure.edges if node not in (i, j)]
    rest = [v for v in range(structure.num_nodes) if v != node]
    graph = nx.Graph([(i, j) for i, j, _ in edges])
    graph.add_nodes_from(rest)
    if not nx.is_connected(graph):
        return None
    number = {v: position for position, v in enumerate(rest)}
    return Structure(
        tuple(structure.node_type[v] for v in rest),
        tuple((number[i], number[j], kind) for i, j, kind in edges),
        None if structure.x is None else structure.x[rest],
    )
