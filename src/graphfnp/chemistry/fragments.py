"""Parts of molecules, cut where a chemist would cut them, with a dummy atom wherever a bond was cut."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rdkit import Chem, rdBase

from graphfnp.chemistry.atoms import read_token
from graphfnp.chemistry.sketches import structure_to_mol, written
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure, as_networkx

if TYPE_CHECKING:
    import networkx as nx


def units(structure: Structure, schema: Schema) -> list[frozenset[int]]:
    """What is kept or left out together: what is left when acyclic single bonds are cut.

    Ring systems with what is double-bonded to them, nitro, carbonyl, sulfonyl, cyano and azo groups, and every atom
    with its hydrogens.
    """
    import networkx as nx  # slow to import, and only explanations need it

    graph = as_networkx(structure)
    bridges = {frozenset(edge) for edge in nx.bridges(graph)}
    atoms = [read_token(schema.node_types[kind]) for kind in structure.node_type]
    cut = [
        (i, j)
        for i, j, kind in structure.edges
        if frozenset((i, j)) in bridges
        and schema.edge_types[kind] not in ("double", "triple")
        and 1 not in (atoms[i][0], atoms[j][0])
        and not _is_nitro_bond(graph, atoms, i, j)
    ]
    graph.remove_edges_from(cut)
    return [frozenset(piece) for piece in nx.connected_components(graph)]


def _is_nitro_bond(graph: "nx.Graph", atoms: list[tuple[int, int]], i: int, j: int) -> bool:
    """N-O with a lone oxygen: the second bond of a nitro group or an N-oxide, charged or not."""
    nitrogen, oxygen = (i, j) if atoms[i][0] == 7 else (j, i)
    return atoms[nitrogen][0] == 7 and atoms[oxygen][0] == 8 and graph.degree[oxygen] == 1


def fragments(structure: Structure, schema: Schema, largest: int) -> Iterator[frozenset[int]]:
    """Every connected union of units with at most ``largest`` nodes, each once."""
    pieces = units(structure, schema)
    owner = {node: number for number, piece in enumerate(pieces) for node in piece}
    neighbours: list[set[int]] = [set() for _ in pieces]
    for i, j, _ in structure.edges:
        if owner[i] != owner[j]:
            neighbours[owner[i]].add(owner[j])
            neighbours[owner[j]].add(owner[i])

    def grown(chosen: frozenset[int], size: int, border: set[int], banned: set[int]) -> Iterator[frozenset[int]]:
        yield frozenset().union(*(pieces[unit] for unit in chosen))
        banned = set(banned)
        for unit in sorted(border):
            banned.add(unit)
            if size + len(pieces[unit]) <= largest:
                yield from grown(
                    chosen | {unit}, size + len(pieces[unit]), (border | neighbours[unit]) - banned - chosen, banned
                )

    for first in range(len(pieces)):
        if len(pieces[first]) <= largest:
            before = set(range(first + 1))
            yield from grown(frozenset([first]), len(pieces[first]), neighbours[first] - before, before)


def fragment_of(structure: Structure, schema: Schema) -> Chem.Mol | None:
    """The molecule, atoms in the order of nodes, then a dummy atom for every cut bond; None if it is no molecule."""
    molecule = structure_to_mol(structure, schema)
    return None if molecule is None else with_attachments(molecule, structure.cut_bonds)


def fragment_smiles(structure: Structure, schema: Schema) -> str | None:
    """Canonical SMILES without explicit hydrogens, ``*`` at every cut bond."""
    return written(fragment_of(structure, schema))


def with_attachments(molecule: Chem.Mol, open_: Sequence[int]) -> Chem.Mol:
    """A dummy atom on each of these atoms, in the place of the hydrogen that filled its valence."""
    grown = Chem.RWMol(molecule)
    for node in open_:
        atom = grown.GetAtomWithIdx(node)
        atom.SetNumExplicitHs(max(0, atom.GetNumExplicitHs() - 1))  # [nH] has its hydrogen written down
        grown.AddBond(node, grown.AddAtom(Chem.Atom(0)), Chem.BondType.SINGLE)
    with rdBase.BlockLogs():
        is_valid = Chem.SanitizeMol(grown, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE
    return grown.GetMol() if is_valid else molecule
