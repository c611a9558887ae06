"""Which structures are candidates for a rationale."""

from dataclasses import dataclass

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.kinds.kind_of import kind_of
from graphfnp.kinds.plain import PlainGraphs


@dataclass(frozen=True)
class DecodingConfig:
    """Candidates from the decoder and from training graphs. Sizes count heavy atoms where hydrogens are nodes."""

    candidates: int = 120  # drawn from the decoder for each rationale; 0: none
    training_graphs: int = 30  # nearest training graphs whose connected parts are candidates too; 0: none
    smallest: int = PlainGraphs.smallest
    largest: int = PlainGraphs.largest
    temperature: float = 0.8  # of the decoder; 0: the most probable decision every time

    def __post_init__(self) -> None:
        counts = self.candidates, self.training_graphs
        if not 1 <= self.smallest <= self.largest or min(counts) < 0 or sum(counts) == 0 or not self.temperature >= 0:
            raise InvalidConfig(
                f"candidates={self.candidates}, training_graphs={self.training_graphs}, "
                f"temperature={self.temperature}, sizes {self.smallest} to {self.largest}",
                "candidates from the decoder or from training graphs, temperature >= 0, 1 <= smallest <= largest",
                "change these settings",
            )


def decoding_for(schema: Schema) -> DecodingConfig:
    """What works for graphs of this kind."""
    kind = kind_of(schema)
    return DecodingConfig(smallest=kind.smallest, largest=kind.largest)
