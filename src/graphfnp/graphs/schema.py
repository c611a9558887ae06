"""Schema: what the numbers of a graph mean."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from torch import Tensor

from graphfnp.graphs.edges import DEGREE_SIZE, degree_feature


@dataclass(frozen=True)
class Schema:
    """The meaning of features, types and classes: enough to build a network, to draw and to decode."""

    class_names: tuple[str, ...]
    kind: Literal["graph", "molecule", "text"] = "graph"
    node_sizes: tuple[int, ...] = ()  # values of each categorical column of x; empty: x is continuous
    node_width: int = 0  # columns of x when it is continuous
    edge_sizes: tuple[int, ...] = ()  # values of each column of edge_attr; empty: edges carry nothing
    node_types: tuple[str, ...] = ("node",)  # names of node_type: what a decoder may generate
    edge_types: tuple[str, ...] = ("edge",)  # names of the first column of edge_attr
    features: Literal["types", "degree", "molecule", "given"] = "given"  # how x follows from the structure
    standardise: bool = False  # are molecules read in their standard form?
    descriptors: tuple[str, ...] = ()  # read beside the structure: "rdkit", columns of the user's table

    @classmethod
    def of_degrees(cls, class_names: tuple[str, ...]) -> "Schema":
        """Plain graphs, of whose nodes only the degree is known."""
        return cls(class_names, node_sizes=(DEGREE_SIZE,), features="degree")

    def to_json(self) -> dict[str, Any]:
        """As before there were standard forms and descriptors, where there are none."""
        later = ("standardise", "descriptors")
        return {name: value for name, value in asdict(self).items() if name not in later or value}

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def is_continuous(self) -> bool:
        return not self.node_sizes

    @property
    def num_columns(self) -> int:
        return self.node_width if self.is_continuous else len(self.node_sizes)

    @property
    def counts_degrees(self) -> bool:
        return self.features == "degree"  # all that is known of nodes

    @property
    def has_atom_features(self) -> bool:
        """Are nodes the heavy atoms of molecules with RDKit's features, hydrogens among these?"""
        return self.features == "molecule"

    @property
    def needs_x(self) -> bool:
        return self.features == "given"  # it does not follow from the structure

    def refeaturised(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Features of nodes that have other edges now: degrees are counted anew, the rest stays."""
        return degree_feature(edge_index, len(x)) if self.counts_degrees else x


class Origin(NamedTuple):
    """Where a standard form comes from."""

    given: str  # as the row has it
    changes: str  # what was done to it, with commas between
