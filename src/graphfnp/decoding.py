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
    """How many candidates of which sizes are drawn for a rationale, and when a node is left out."""

    candidates: int = 120
    smallest: int = 4
    largest: int = 10
    temperature: float = 0.8
    class_weight: float = 1.0  # of log p(class | G)
    similarity_weight: float = 1.0  # of log kappa
    likelihood_weight: float = 1.0  # of log p(G | rationale, size)
    tolerance: float = 0.1  # of class probability that a smaller structure may lose


@torch.no_grad()
def find_rationales(model: TrainedModel, config: DecodingConfig | None = None, seed: int = 0) -> Rationales | None:
    """Decode every rationale: the best of many candidates, then without the nodes its evidence does not need.

    Candidates are ranked by a log p(class | G) + b log kappa(G, rationale) + c log p(G | rationale, size): the model's
    own evidence on the re-encoded graph, and how natural the decoder finds it.
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
    score, _, _ = _evidence(model, structures, owner, rationales.label, config)
    best = [int(torch.where(owner == r, score, -torch.inf).argmax()) for r in range(len(rationales))]
    chosen = [_pruned(model, structures[b], r, rationales.label, config) for r, b in enumerate(best)]
    _, probability, similarity = _evidence(model, chosen, torch.arange(len(chosen)), rationales.label, config)
    return replace(rationales, structures=tuple(chosen), class_probability=probability, similarity=similarity)


def _evidence(
    model: TrainedModel, structures: Sequence[Structure], rationale: Tensor, label: Tensor, config: DecodingConfig
) -> tuple[Tensor, Tensor, Tensor]:
    """Score, class probability and kernel similarity of each structure for the rationale beside it."""
    graphs = graphs_from_structures(structures, model.classifier.schema)
    raw = collect(model.classifier, graphs, num_draws=16)
    # Calibration was fitted on whole graphs; the classifier learned parts at the scale of its own logits.
    probabilities = raw.logits.softmax(-1).mean(0)
    probability = probabilities.gather(1, label[rationale].unsqueeze(1))[:, 0]
    log_kappa, log_likelihood = [], []
    for part in torch.arange(len(graphs)).split(512):
        batch = graphs.batch(part)
        log_kappa.append(model.classifier.log_similarity(batch, rationale[part]))
        log_likelihood.append(model.classifier.log_likelihood(batch, rationale[part]))
    similarity = torch.cat(log_kappa)
    score = config.class_weight * probability.clamp(min=1e-6).log() + config.similarity_weight * similarity
    return score + config.likelihood_weight * torch.cat(log_likelihood), probability, similarity.exp()


def _pruned(model: TrainedModel, structure: Structure, rationale: int, label: Tensor, config: DecodingConfig) -> Structure:
    """Leave out node after node while the structure stays connected and its class probability holds."""
    _, probability, _ = _evidence(model, [structure], torch.tensor([rationale]), label, config)
    floor = float(probability) - config.tolerance
    while structure.num_nodes > config.smallest:
        smaller = [part for node in range(structure.num_nodes) if (part := without_node(structure, node)) is not None]
        if not smaller:
            break
        _, probability, _ = _evidence(model, smaller, torch.full((len(smaller),), rationale), label, config)
        best = int(probability.argmax())
        if float(probability[best]) < floor:
            break
        structure = smaller[best]
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
