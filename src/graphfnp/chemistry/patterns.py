"""Where a structure occurs in graphs: SMARTS for molecules, induced subgraphs for the rest."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from rdkit import Chem, rdBase
from rdkit.Chem import rdSubstructLibrary
from torch import Tensor

from graphfnp.chemistry.atoms import read_token
from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Adjacency, Pattern, Structure, adjacency, core_numbers


def smarts_of(structure: Structure, schema: Schema) -> str | None:
    """The structure as a pattern: elements, charges, aromaticity and bonds as drawn, more bonds allowed.

    A nitrogen, oxygen or sulphur has as many hydrogens as drawn unless a bond of it was cut: a hydroxyl is no ether,
    but where a part was attached anything may be. Carbons are free everywhere.
    """
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        return None
    pattern, place = Chem.RWMol(), {}
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() != 1:
            hydrogens = 0 if atom.GetIdx() in structure.cut_bonds else _hydrogens(atom, schema.has_atom_features)
            place[atom.GetIdx()] = pattern.AddAtom(Chem.AtomFromSmarts(_atom_smarts(atom, hydrogens)))
    for bond in molecule.GetBonds():
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if all(end in place for end in ends):
            pattern.AddBond(place[ends[0]], place[ends[1]], bond.GetBondType())
    return Chem.MolToSmarts(pattern)


def _hydrogens(atom: Chem.Atom, implied: bool) -> int:
    """Hydrogens that a heteroatom is known to have; where they are nodes, none if some are missing."""
    if atom.GetAtomicNum() not in (7, 8, 16):
        return 0
    drawn = sum(other.GetAtomicNum() == 1 for other in atom.GetNeighbors())
    return atom.GetTotalNumHs() if implied else drawn * (atom.GetNumImplicitHs() == 0)


def _atom_smarts(atom: Chem.Atom, hydrogens: int) -> str:
    symbol = atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
    return f"[{symbol};{atom.GetFormalCharge():+d}{f';H{hydrogens}' if hydrogens else ''}]"


@dataclass(frozen=True, eq=False)
class SubstructureIndex:
    """Graphs prepared once for many searches."""

    graphs: PackedGraphs

    @cached_property
    def structures(self) -> list[Structure]:
        return structures_from_graphs(self.graphs)

    @cached_property
    def molecules(self) -> list[Chem.Mol | None]:
        """Atoms in the order of nodes."""
        with rdBase.BlockLogs():
            return [self._molecule(number) for number in range(len(self.structures))]

    def _molecule(self, number: int) -> Chem.Mol | None:
        structure = self.structures[number]
        molecule = None if self.graphs.text is None else read_molecule(self.graphs.text[number])
        if molecule is None or isinstance(molecule, str) or molecule.GetNumAtoms() != structure.num_nodes:
            return structure_to_mol(structure, self.graphs.schema)
        return molecule

    @cached_property
    def neighbours(self) -> list[tuple[Adjacency, list[int]]]:
        links = [adjacency(structure) for structure in self.structures]
        return [(one, core_numbers(one)) for one in links]

    @cached_property
    def library(self) -> tuple[rdSubstructLibrary.SubstructLibrary, list[int]]:
        """The molecules behind fingerprints that rule most of them out, and the graph each one is."""
        holders = rdSubstructLibrary.MolHolder(), rdSubstructLibrary.PatternHolder()
        library = rdSubstructLibrary.SubstructLibrary(*holders)
        known = [number for number, molecule in enumerate(self.molecules) if molecule is not None]
        with rdBase.BlockLogs():
            for number in known:
                library.AddMol(self.molecules[number])
        return library, known

    def contain(self, structure: Structure) -> Tensor:
        """[graphs]: does each hold the structure?"""
        if (smarts := self._smarts(structure)) is not None:
            return self.contain_smarts(smarts)
        return torch.tensor(list(self.held_by(structure, range(len(self.graphs)))), dtype=torch.bool)

    def _smarts(self, structure: Structure) -> str | None:
        """What molecules are searched for; None: the structure itself."""
        return smarts_of(structure, self.graphs.schema) if self.graphs.schema.kind == "molecule" else None

    def contain_smarts(self, smarts: str) -> Tensor:
        """[graphs]: does each match the pattern?"""
        library, known = self.library
        found = torch.zeros(len(self.graphs), dtype=torch.bool)
        with rdBase.BlockLogs():
            matches = library.GetMatches(Chem.MolFromSmarts(smarts), numThreads=1, maxResults=len(known))
        found[[known[match] for match in matches]] = True
        return found

    def held_by(self, structure: Structure, graphs: Iterable[int]) -> Iterator[bool]:
        """Does each of these graphs hold the structure as an induced subgraph? Searched one by one, as asked for."""
        pattern = Pattern(structure)
        for graph in graphs:
            yield bool(pattern.first_copy(self.structures[graph].node_type, *self.neighbours[graph]))

    def all_places(self, structure: Structure, chosen: Sequence[int]) -> list[tuple[int, ...]]:
        """For the chosen graphs all nodes of all copies; hydrogens that the structure has are among them."""
        smarts = self._smarts(structure)
        if smarts is None:
            pattern = Pattern(structure)
            return [pattern.first_copy(self.structures[one].node_type, *self.neighbours[one]) for one in chosen]
        query, with_hydrogens = Chem.MolFromSmarts(smarts), _atoms_with_hydrogens(structure, self.graphs.schema)
        found: list[tuple[int, ...]] = []
        for molecule in (self.molecules[one] for one in chosen):
            if molecule is None:
                found.append(())
                continue
            copies = molecule.GetSubstructMatches(query, maxMatches=32)
            bearing = {copy[place] for copy in copies for place in with_hydrogens}
            near = (atom for node in bearing for atom in molecule.GetAtomWithIdx(node).GetNeighbors())
            hydrogens = {atom.GetIdx() for atom in near if atom.GetAtomicNum() == 1}
            found.append(tuple(sorted(hydrogens.union(*copies))))
        return found


def _atoms_with_hydrogens(structure: Structure, schema: Schema) -> list[int]:
    """Places in the pattern, which leaves hydrogens out, of atoms that have one in the structure."""
    hydrogen = [read_token(schema.node_types[kind])[0] == 1 for kind in structure.node_type]
    place = {node: k for k, node in enumerate(node for node, light in enumerate(hydrogen) if not light)}
    ends = [(i, j) for i, j, _ in structure.edges if hydrogen[i] != hydrogen[j]]
    return sorted({place[j if hydrogen[i] else i] for i, j in ends})
