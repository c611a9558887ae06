"""Which structures are candidates for a rationale."""

from dataclasses import dataclass, replace

from graphfnp.chemistry.atoms import read_token
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema


@dataclass(frozen=True)
class DecodingConfig:
    """Candidates from the decoder and from training graphs. Sizes count heavy atoms where hydrogens are nodes."""

    candidates: int = 120  # drawn from the decoder for each rationale; 0: none
    training_graphs: int = 30  # nearest training graphs whose connected parts are candidates too; 0: none
    smallest: int = 3  # nodes of the smallest connected graph that is more than an edge
    largest: int = 10
    temperature: float = 0.8  # of the decoder; 0: the most probable decision every time

    def __post_init__(self) -> None:
        counts = self.candidates, self.training_graphs
        if not 1 <= self.smallest <= self.largest or min(counts) < 0 or sum(counts) == 0 or self.temperature < 0:
            raise InvalidConfig(
                f"candidates={self.candidates}, training_graphs={self.training_graphs}, "
                f"temperature={self.temperature}, sizes {self.smallest} to {self.largest}",
                "candidates from the decoder or from training graphs, temperature >= 0, 1 <= smallest <= largest",
                "change these settings",
            )


def decoding_for(schema: Schema) -> DecodingConfig:
    """What works for graphs of this kind."""
    if schema.kind == "molecule":
        return replace(DecodingConfig(), largest=14)
    if schema.kind == "text":
        return replace(DecodingConfig(), smallest=2, largest=8)
    return DecodingConfig()


def nodes_per_size(schema: Schema) -> float:
    """Nodes for each node that a size counts: molecules with explicit hydrogens have about twice as many."""
    return 2.0 if schema.kind == "molecule" and schema.features != "molecule" and "H" in schema.node_types else 1.0


def counted_size(node_type: tuple[int, ...], schema: Schema) -> int:
    """Nodes that are no hydrogen."""
    if schema.kind != "molecule":
        return len(node_type)
    return sum(read_token(schema.node_types[kind])[0] != 1 for kind in node_type)
