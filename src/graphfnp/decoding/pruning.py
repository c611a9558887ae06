"""Concise structures: what the kernel does not need is left out."""

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.fragments import as_networkx, part, units
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.config import DecodingConfig, counted_size
from graphfnp.decoding.kernels import specific_kernel, structure_kernels
from graphfnp.graphs import Schema
from graphfnp.prediction import TrainedModel
from graphfnp.rationales import Rationales, Structure


def pruned(
    model: TrainedModel,
    rationales: Rationales,
    structures: list[Structure],
    rationale: Tensor,
    floor: Tensor,
    config: DecodingConfig,
) -> list[Structure]:
    """Leave out unit after unit of every structure, the one that costs least, while its kernel keeps ``floor``."""
    schema, current = model.classifier.schema, list(structures)
    shrinking = set(range(len(current)))
    while shrinking:
        tried = [(k, one) for k in sorted(shrinking) for one in smaller_parts(current[k], schema, config)]
        if not tried:
            break
        owner = torch.tensor([k for k, _ in tried])
        kernel = structure_kernels(model, [one for _, one in tried])
        score = specific_kernel(kernel, rationales).gather(1, rationale[owner][:, None])[:, 0]
        shrinking = set()
        for k in owner.unique().tolist():
            best = int(torch.where(owner == k, score, -torch.inf).argmax())
            if score[best] >= floor[k]:
                current[k] = tried[best][1]
                shrinking.add(k)
    return current


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
