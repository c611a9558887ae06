"""Molecules: structures that chemists would draw, cut where they would cut them."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar

import torch
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import rdFingerprintGenerator

from graphfnp.chemistry.alerts import alerts_in
from graphfnp.chemistry.atoms import read_token
from graphfnp.chemistry.fragments import fragment_of, fragment_smiles, fragments, units
from graphfnp.chemistry.patterns import smarts_of
from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.structures import repaired, structure_to_smiles, structures_from_graphs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure, substructure
from graphfnp.kinds.plain import PlainGraphs

MOST_PARTS = 300  # of a molecule
UNPLACED = ("aromatic", "other")  # bonds no generator places: rings are written with single and double bonds
ORDERS = {"double": 2, "triple": 3}


class Molecules(PlainGraphs):
    """Sizes count heavy atoms, where hydrogens are nodes."""

    noun: ClassVar[str] = "molecule"
    knows_alerts: ClassVar[bool] = True
    largest: ClassVar[int] = 14
    searched: ClassVar[int | None] = None

    def can_be_written(self, structure: Structure) -> bool:
        return structure_to_mol(structure, self.schema) is not None

    def is_valid(self, structure: Structure) -> bool:
        """A molecule with a heavy atom; where names carry no charges, one whose restored charges cancel."""
        molecule = structure_to_mol(structure, self.schema)
        if molecule is None or molecule.GetNumHeavyAtoms() == 0:
            return False
        charged = any(read_token(name)[1] for name in self.schema.node_types)
        return charged or sum(atom.GetFormalCharge() for atom in molecule.GetAtoms()) == 0

    def decoding_rules(self) -> Any | None:
        from graphfnp.chemistry.valence import valence_rules  # loads the decoder

        return valence_rules(self.schema)

    def repaired(self, structure: Structure) -> Structure:
        return repaired(super().repaired(structure), self.schema)

    @property
    def nodes_per_size(self) -> float:
        return 2.0 if not self.schema.has_atom_features and "H" in self.schema.node_types else 1.0

    def size(self, structure: Structure) -> int:
        return sum(self._element(kind) != 1 for kind in structure.node_type)

    def units(self, structure: Structure) -> list[frozenset[int]]:
        return units(structure, self.schema)

    def parts(
        self, graphs: PackedGraphs, smallest: int, largest: int, rounds: int, generator: torch.Generator
    ) -> list[Structure]:
        """Every union of neighbouring units."""
        most = int(largest * (1 + self.nodes_per_size))
        return [
            substructure(structure, nodes)
            for structure in structures_from_graphs(graphs)
            for nodes in islice(fragments(structure, self.schema, most), MOST_PARTS)
        ]

    def attachments(self, structure: Structure) -> int:
        """Of heteroatoms."""
        return sum(self._element(structure.node_type[node]) not in (1, 6) for node in set(structure.cut_bonds))

    def edge_order(self, edge_type: int) -> int:
        # Aromatic bonds weigh one: an atom's largest valence is reached with ordinary bonds, or is the same.
        return ORDERS.get(self._bond(edge_type), 1)

    def may_be_placed(self, edge_type: int) -> bool:
        return self._bond(edge_type) not in UNPLACED

    def _bond(self, edge_type: int) -> str:
        return self.schema.edge_types[edge_type] if edge_type < len(self.schema.edge_types) else ""

    def _element(self, node_type: int) -> int:
        """The atomic number."""
        return read_token(self.schema.node_types[node_type])[0]

    def names(self, structure: Structure) -> dict[str, str | None]:
        smiles = structure_to_smiles(structure, self.schema)
        if smiles is None:
            return {}
        return {
            "smiles": smiles,
            "fragment": fragment_smiles(structure, self.schema),
            "smarts": smarts_of(structure, self.schema),
        }

    def canonical(self, texts: Sequence[str]) -> list[str]:
        """RDKit's canonical SMILES of each; what does not parse stays as given."""
        with rdBase.BlockLogs():
            molecules = (Chem.MolFromSmiles(one) for one in texts)
            return [Chem.MolToSmiles(mol) if mol else one for mol, one in zip(molecules, texts, strict=True)]

    def molecule(self, structure: Structure) -> Chem.Mol | None:
        return fragment_of(structure, self.schema)

    def alerts(self, structure: Structure) -> list[str]:
        """Where the structure was cut there is no hydrogen."""
        molecule = self.molecule(structure)
        return [] if molecule is None else list(alerts_in(molecule))

    def similarities(self, structures: Sequence[Structure], others: Sequence[Structure]) -> list[float]:
        """Tanimoto similarity of Morgan fingerprints."""
        mine, theirs = ([self._fingerprint(one) for one in group] for group in (structures, others))
        return [max(map(float, DataStructs.BulkTanimotoSimilarity(one, theirs)), default=0.0) for one in mine]

    def _fingerprint(self, structure: Structure) -> DataStructs.ExplicitBitVect:
        """Of radius 2; of what is no molecule an empty one."""
        molecule = structure_to_mol(structure, self.schema) or Chem.Mol()
        Chem.GetSSSR(molecule)
        return rdFingerprintGenerator.GetMorganGenerator(radius=2).GetFingerprint(molecule)
