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
    beam: int = 0  # graphs of each size kept by a beam search, in the place of draws; 0: draws
    training_graphs: int = 0  # nearest training graphs whose connected parts are candidates too; 0: none
    smallest: int = 3  # nodes of the smallest connected graph that is more than an edge
    largest: int = 10
    size_decay: float = 1.0  # size n is drawn with weight decay^n
    temperature: float = 0.8  # 0: the most probable decision every time
    most_odds: float = 20.0  # log-odds beyond this are all certain
    kernel_weight: float = 0.0  # small parts of large graphs are far from all whole graphs
    least_kernel: float = 0.01  # what is farther than this is simply far
    likelihood_weight: float = 1.0
    looked_up: int = 150  # best candidates of a rationale that are looked up in the training graphs
    finalists: int = 8  # of those, how many are pruned and compared
    data_weight: float = 1.0  # of the log odds ratio, less its error, of finding it in graphs of the class
    repeat_weight: float = 1.0  # against what occurs in the same graphs as a structure chosen for the class before
    tolerance: float = 0.2  # share of its log-odds that a structure may lose by pruning

    def __post_init__(self) -> None:
        counts = self.candidates, self.beam, self.training_graphs
        fine = min(counts) >= 0 and sum(counts) > 0 and min(self.finalists, self.looked_up) >= 1
        if not 1 <= self.smallest <= self.largest or not fine or self.temperature < 0:
            raise InvalidConfig(
                f"candidates={self.candidates}, beam={self.beam}, training_graphs={self.training_graphs}, "
                f"finalists={self.finalists}, looked_up={self.looked_up}, temperature={self.temperature}, "
                f"sizes {self.smallest} to {self.largest}",
                "candidates from the decoder or from training graphs, finalists and looked_up >= 1, temperature >= 0, "
                "1 <= smallest <= largest",
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
            config, training_graphs=20, largest=18, size_decay=0.85, kernel_weight=2.0, likelihood_weight=0.05,
            repeat_weight=3.0,
        )  # fmt: skip
    if schema.kind == "text":
        return replace(
            config, training_graphs=20, smallest=2, largest=8, kernel_weight=1.0, likelihood_weight=0.0,
            repeat_weight=3.0,
        )  # fmt: skip
    return config


def nodes_per_size(schema: Schema) -> float:
    """Nodes for each node that a size counts: molecules with explicit hydrogens have about twice as many."""
    return 2.0 if schema.kind == "molecule" and schema.features != "molecule" and "H" in schema.node_types else 1.0


def counted_size(node_type: tuple[int, ...], schema: Schema) -> int:
    """Nodes that are no hydrogen."""
    if schema.kind != "molecule":
        return len(node_type)
    return sum(read_token(schema.node_types[kind])[0] != 1 for kind in node_type)
