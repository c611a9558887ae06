"""How many candidates of which sizes there are for a rationale, how they are ranked, and what pruning may cost."""

from dataclasses import dataclass, replace

from graphfnp.datasets.atoms import read_token
from graphfnp.errors import InvalidConfig
from graphfnp.graphs import Schema


@dataclass(frozen=True)
class DecodingConfig:
    """A structure's score: log-odds of the class + log kernel + log p(G | rationale, size), weighted.

    Sizes count heavy atoms where hydrogens are nodes.
    """

    candidates: int = 120  # drawn from the decoder for each rationale; 0: none
    training_graphs: int = 0  # nearest training graphs whose connected parts are candidates too; 0: none
    smallest: int = 5
    largest: int = 10
    size_decay: float = 1.0  # size n is drawn with weight decay^n
    temperature: float = 0.8  # 0: the most probable decision every time
    beam: int = 6  # candidates that are pruned; the best of the pruned is kept
    most_odds: float = 20.0  # log-odds beyond this are all certain
    kernel_weight: float = 0.0  # small parts of large graphs are far from all whole graphs
    least_kernel: float = 0.01  # what is farther than this is simply far
    likelihood_weight: float = 1.0
    data_weight: float = 0.5  # of the log odds ratio, less its standard error, of finding it in graphs of the class
    tolerance: float = 0.2  # share of its log-odds that a structure may lose by pruning

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest or self.candidates + self.training_graphs < 1 or self.beam < 1:
            raise InvalidConfig(
                f"candidates={self.candidates}, training_graphs={self.training_graphs}, beam={self.beam}, "
                f"sizes {self.smallest} to {self.largest}",
                "candidates from the decoder or from training graphs, beam >= 1, 1 <= smallest <= largest",
                "change these settings",
            )


def decoding_for(schema: Schema) -> DecodingConfig:
    """What works for graphs of this kind.

    A molecule of ten atoms is one of very many, so its likelihood says more of its size than of the rationale; but its
    parts lie where whole molecules lie, so the kernel tells rationales apart.
    """
    config = DecodingConfig()
    if schema.kind == "molecule":
        return replace(
            config, training_graphs=20, smallest=3, largest=18, size_decay=0.85, beam=8, kernel_weight=2.0,
            likelihood_weight=0.05,
        )  # fmt: skip
    if schema.kind == "text":
        return replace(config, training_graphs=20, smallest=2, largest=8, kernel_weight=1.0, likelihood_weight=0.0)
    return config


def nodes_per_size(schema: Schema) -> float:
    """Nodes for each node that a size counts: molecules with explicit hydrogens have about twice as many."""
    return 2.0 if schema.kind == "molecule" and schema.features != "molecule" and "H" in schema.node_types else 1.0


def counted_size(node_type: tuple[int, ...], schema: Schema) -> int:
    """Nodes that are no hydrogen."""
    if schema.kind != "molecule":
        return len(node_type)
    return sum(read_token(schema.node_types[kind])[0] != 1 for kind in node_type)
