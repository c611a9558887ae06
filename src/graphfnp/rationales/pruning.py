"""Concise structures: what the kernel does not need is left out."""

import torch
from torch import Tensor

from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure, as_networkx, substructure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import DecodingConfig
from graphfnp.rationales.kernels import specific_kernel, structure_kernels


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
    """The structure less one unit, for each whose rest is connected, large enough, and can be written."""
    import networkx as nx  # slow to import, and only finding rationales needs it

    whole, graph = set(range(structure.num_nodes)), as_networkx(structure)
    parts = []
    kind = kind_of(schema)
    for unit in kind.units(structure):
        rest = whole - unit
        if not rest or not nx.is_connected(graph.subgraph(rest)):
            continue
        smaller = substructure(structure, rest)
        if kind.size(smaller) >= config.smallest and kind.can_be_written(smaller):
            parts.append(smaller)
    return parts
