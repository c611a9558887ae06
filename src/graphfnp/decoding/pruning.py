"""Concise structures: what the evidence does not need is left out."""

from collections.abc import Callable, Sequence

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.fragments import as_networkx, part, units
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.config import DecodingConfig, counted_size
from graphfnp.decoding.evidence import Evidence, evidence
from graphfnp.graphs import Schema
from graphfnp.prediction import TrainedModel
from graphfnp.rationales import Structure

Support = Callable[[Structure], Tensor]


def pruned(
    model: TrainedModel,
    structures: Sequence[Structure],
    rationale: Tensor,
    config: DecodingConfig,
    support: Support | None = None,
) -> list[Structure]:
    """Leave out unit after unit of every structure, the one whose loss leaves the best score, while it may go.

    A unit may go if the structure keeps most of its strength. It may also go if the structure still speaks for its
    class and ``support``, the training graphs that hold it, stays the same: then nothing in the data tells the two
    apart, and the smaller one is named. A cycle alone looks to message passing like any other cycle, with a node
    hanging on it not; but in the data it is where the cycles are.
    """
    schema = model.classifier.schema
    current = list(structures)
    first = evidence(model, current, rationale)
    allowance = config.tolerance * first.log_odds.clamp(0, config.most_odds)
    floor = first.strength(config) - allowance
    open_ = set(range(len(current)))
    while open_:
        tried = [
            (number, smaller) for number in sorted(open_) for smaller in smaller_parts(current[number], schema, config)
        ]
        if not tried:
            break
        owner = torch.tensor([number for number, _ in tried])
        found = evidence(model, [smaller for _, smaller in tried], rationale[owner])
        score = found.score(config)
        kept = torch.where(found.strength(config) >= floor[owner], score, -torch.inf)
        open_ = set()
        for number in owner.unique().tolist():
            mine = torch.where(owner == number)[0]
            best: Tensor | None = mine[kept[mine].argmax()]
            if not torch.isfinite(kept[mine]).any():
                best = _same_support(current[number], tried, mine, found, score, support)
            if best is not None:
                current[number] = tried[int(best)][1]
                open_.add(number)
    return current


def _same_support(
    structure: Structure,
    tried: Sequence[tuple[int, Structure]],
    mine: Tensor,
    found: Evidence,
    score: Tensor,
    support: Support | None,
) -> Tensor | None:
    """The best smaller structure that still speaks for the class and occurs in the very same graphs."""
    speaking = mine[found.log_odds[mine] > 0]
    if support is None or not len(speaking):
        return None
    holds = support(structure)
    if not holds.any():
        return None
    for one in speaking[score[speaking].argsort(descending=True)]:
        if torch.equal(support(tried[int(one)][1]), holds):
            return one
    return None


def smaller_parts(structure: Structure, schema: Schema, config: DecodingConfig) -> list[Structure]:
    """The structure less one unit, for each unit that can go: what is left is connected, large enough, a molecule."""
    whole, graph = set(range(structure.num_nodes)), as_networkx(structure)
    parts = []
    for unit in units(structure, schema):
        rest = whole - unit
        if not rest or not nx.is_connected(graph.subgraph(rest)):
            continue
        smaller = part(structure, rest)
        if counted_size(smaller.node_type, schema) < config.smallest:
            continue
        if schema.kind != "molecule" or structure_to_mol(smaller, schema) is not None:
            parts.append(smaller)
    return parts
