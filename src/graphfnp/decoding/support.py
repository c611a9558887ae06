"""Where structures occur among the training graphs: what pruning and explanations may lean on."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphfnp.datasets.structures import structure_to_smiles
from graphfnp.decoding.candidates import refined_hash
from graphfnp.decoding.patterns import Searched
from graphfnp.graphs import PackedGraphs
from graphfnp.rationales import Structure

SEARCHED, SEARCHED_MOLECULES = 200, 1000  # training graphs that are searched; molecules are quicker


@dataclass(frozen=True, eq=False)
class Support:
    """Some training graphs in which structures are sought, each structure once."""

    searched: Searched
    known: dict[object, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "Support":
        count = SEARCHED_MOLECULES if graphs.schema.kind == "molecule" else SEARCHED
        return cls(Searched(graphs.select(torch.arange(len(graphs))[:: max(1, len(graphs) // count)])))

    def __call__(self, structure: Structure) -> Tensor:
        """[graphs]: does each hold the structure?"""
        smiles = structure_to_smiles(structure, self.searched.graphs.schema) if self.searched.is_chemical else None
        key = smiles or refined_hash(structure)
        if key not in self.known:
            self.known[key] = self.searched.contain(structure)
        return self.known[key]

    def log_odds_ratio(self, structure: Structure, label: int) -> float:
        """Of holding the structure, graphs of the class against the others, less one standard error."""
        holds, own = self(structure), self.searched.graphs.y == label
        cells = [float((a & b).sum()) + 0.5 for b in (own, ~own) for a in (holds, ~holds)]
        ratio = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
        return ratio - math.sqrt(sum(1 / cell for cell in cells))

    def f1(self, structure: Structure, label: int) -> float:
        """How well finding the structure tells the class: the harmonic mean of precision and recall."""
        holds, own = self(structure), self.searched.graphs.y == label
        return float(2 * (holds & own).sum() / (holds.sum() + own.sum()).clamp(min=1))
