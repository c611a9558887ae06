"""Concise structures: what the evidence does not need is left out."""

from collections.abc import Iterator, Sequence

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.fragments import as_networkx, part, units
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.config import DecodingConfig, counted_size
from graphfnp.decoding.evidence import Evidence, evidence
from graphfnp.decoding.support import Support
from graphfnp.graphs import Schema
from graphfnp.prediction import TrainedModel
from graphfnp.rationales import Structure


def pruned(
    model: TrainedModel,
    structures: Sequence[Structure],
    rationale: Tensor,
    config: DecodingConfig,
    support: Support | None = None,
) -> list[Structure]:
    """Leave out unit after unit of every structure, the one whose loss leaves the best score, while it may go.

    A unit may go if the structure keeps most of its strength and, with ``support``, does not cease to be enriched in
    its class. It may also go if the structure still speaks for its class and all training graphs that hold it besides
    are of that class.
    """
    schema = model.classifier.schema
    rationales = model.classifier.rationales()
    assert rationales is not None
    label = rationales.label[rationale].tolist()
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
        strong = found.strength(config) >= floor[owner]
        score = found.score(config)
        open_ = set()
        for number in owner.unique().tolist():
            mine = torch.where(owner == number)[0]
            for one in _in_order(mine, strong, score, found, support):
                smaller = tried[one][1]
                if _may_go(current[number], smaller, label[number], bool(strong[one]), support, config):
                    current[number] = smaller
                    open_.add(number)
                    break
    return current


def _in_order(mine: Tensor, strong: Tensor, score: Tensor, found: Evidence, support: Support | None) -> Iterator[int]:
    """What keeps its strength first; then, if the data is to be asked, what still speaks for the class."""
    weak = ~strong[mine] & (found.log_odds[mine] > 0) if support is not None else torch.zeros_like(strong[mine])
    for some in (mine[strong[mine]], mine[weak]):
        yield from some[score[some].argsort(descending=True)].tolist()


def _may_go(
    structure: Structure,
    smaller: Structure,
    label: int,
    strong: bool,
    support: Support | None,
    config: DecodingConfig,
) -> bool:
    if support is None:
        return strong
    for among in (1, config.looked_up):
        if support.log_odds_ratio(structure, label, among) > 0 >= support.log_odds_ratio(smaller, label, among):
            return False
    if strong:
        return True
    holds = support(structure)
    besides = support(smaller) & ~holds
    return bool(holds.any()) and not bool((support.searched.graphs.y[besides] != label).any())


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
