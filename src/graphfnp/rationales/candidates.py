"""Candidates for rationales: graphs drawn from the decoder, and parts of the training graphs nearest to a rationale."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.graphs.subgraph_search import adjacency
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales, Source
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import DecodingConfig


@dataclass
class Candidates:
    """Structures, the rationale each is meant for, and where it comes from."""

    structures: list[Structure] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)
    source: list[Source] = field(default_factory=list)

    def add(self, structures: list[Structure], owner: list[int], source: Source) -> None:
        self.structures += structures
        self.owner += owner
        self.source += [source] * len(structures)

    def __add__(self, other: "Candidates") -> "Candidates":
        return Candidates(self.structures + other.structures, self.owner + other.owner, self.source + other.source)

    def distinct(self, schema: Schema) -> "Candidates":
        """Of structures that message passing cannot tell apart the first.

        Parts of molecules are also told apart by which of their heteroatoms are attached to more.
        """
        unique, seen = Candidates(), set()
        kind = kind_of(schema)
        for structure, owner, source in zip(self.structures, self.owner, self.source, strict=True):
            key = (kind.attachments(structure), refined_hash(structure))
            if key not in seen:
                seen.add(key)
                unique.add([structure], [owner], source)
        return unique


def drawn_candidates(
    model: TrainedModel, rationales: Rationales, config: DecodingConfig, generator: torch.Generator
) -> Candidates:
    """``config.candidates`` graphs for each rationale, all drawn together; molecules within the rules of valence."""
    classifier = with_rationales(model.classifier)
    kind = kind_of(classifier.schema)
    owner = torch.arange(len(rationales)).repeat_interleave(config.candidates)
    sizes = torch.randint(config.smallest, config.largest + 1, (len(owner),), generator=generator)
    nodes, rules = (sizes * kind.nodes_per_size).long(), kind.decoding_rules()
    drawn = classifier.decode(rationales.embedding[owner], nodes, config.temperature, generator, rules)
    found = Candidates()
    found.add([kind.repaired(structure) for structure in drawn], owner.tolist(), "decoder")
    return found


def nearest_parts(
    rationales: Rationales,
    correlation: Tensor,
    graphs: PackedGraphs,
    config: DecodingConfig,
    generator: torch.Generator,
) -> Candidates:
    """Connected parts of the graphs that are nearest to each rationale among those of its class."""
    found = Candidates()
    for number, label in enumerate(rationales.label.tolist()):
        near = correlation[:, number].masked_fill(graphs.y != label, -1.0)
        count = min(config.training_graphs, int((graphs.y == label).sum()))
        parts = parts_of(graphs.select(near.topk(count).indices), config, generator)
        found.add(parts, [number] * len(parts), "training part")
    return found


def parts_of(graphs: PackedGraphs, config: DecodingConfig, generator: torch.Generator) -> list[Structure]:
    """Connected parts of the sizes that are asked for."""
    kind, rounds = kind_of(graphs.schema), max(1, config.candidates // max(1, len(graphs)))
    parts = kind.parts(graphs, config.smallest, config.largest, rounds, generator)
    return [one for one in parts if config.smallest <= kind.size(one) <= config.largest]


def refined_hash(structure: Structure, rounds: int = 3) -> object:
    """Colour refinement: equal for structures that message passing cannot tell apart in so many rounds."""
    if structure.x is not None:
        return (structure.names, structure.edges) if structure.names else id(structure)
    links = adjacency(structure)
    colour: list[int] = list(structure.node_type)
    for _ in range(rounds):
        colour = [
            hash((own, *sorted((kind, colour[other]) for other, kind in near.items())))
            for own, near in zip(colour, links, strict=True)
        ]
    return structure.num_nodes, tuple(sorted(colour))
