"""Candidates for rationales: graphs drawn from the decoder, and parts of the training graphs nearest to a rationale."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from graphfnp.chemistry.structures import words_of
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure, adjacency
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales, Source
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import DecodingConfig

ROUNDS = 3  # rounds of colour refinement
KNOWN = 20_000  # nodes of the training graphs that are looked at, evenly spread


def with_known_features(structures: Sequence[Structure], graphs: PackedGraphs) -> list[Structure]:
    """Each node gets the features of the known node nearest to it and, in sentences, its word."""
    nodes = torch.arange(len(graphs.x))[:: max(1, len(graphs.x) // KNOWN)]
    known = graphs.x[nodes].float()
    words = _words(graphs)
    drawn = torch.cat([structure.x for structure in structures if structure.x is not None])
    nearest = nodes[torch.cat([torch.cdist(some, known).argmin(1) for some in drawn.split(1024)])]
    found = []
    for structure, own in zip(structures, nearest.split([s.num_nodes for s in structures]), strict=True):
        names = tuple(words[node] for node in own.tolist()) if words else ()
        found.append(replace(structure, x=graphs.x[own].float(), names=names))
    return found


def with_usual_features(structures: Sequence[Structure], graphs: PackedGraphs) -> list[Structure]:
    """Each word with the mean of its vectors in the training sentences.

    Vectors of a language model know the sentence around a word: a comma of a bad review is a bad comma. What a phrase
    says by itself is asked with what its words are on average.
    """
    words = _words(graphs)
    if not words:
        return list(structures)
    number = {word: k for k, word in enumerate(dict.fromkeys(map(str.lower, words)))}
    kind = torch.tensor([number[word.lower()] for word in words])
    mean = torch.zeros(len(number), graphs.x.shape[1]).index_add_(0, kind, graphs.x.float())
    mean /= torch.bincount(kind)[:, None]
    return [
        replace(one, x=mean[[number[word.lower()] for word in one.names]]) if one.names else one for one in structures
    ]


def _words(graphs: PackedGraphs) -> list[str]:
    """One for each node; none if they are not known."""
    words = [word for sentence in words_of(graphs) for word in sentence]
    return words if len(words) == len(graphs.x) else []


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


def refined_hash(structure: Structure) -> object:
    """Equal for structures that message passing cannot tell apart."""
    if structure.x is not None:
        return (structure.names, structure.edges) if structure.names else id(structure)
    return structure.num_nodes, tuple(sorted(refined_colours(structure)))


def refined_colours(structure: Structure) -> list[int]:
    """Colour refinement: a number for each node, equal for nodes that three rounds of messages cannot tell apart."""
    links = adjacency(structure)
    colour: list[int] = list(structure.node_type)
    for _ in range(ROUNDS):
        colour = [
            hash((own, *sorted((kind, colour[other]) for other, kind in near.items())))
            for own, near in zip(colour, links, strict=True)
        ]
    return colour
