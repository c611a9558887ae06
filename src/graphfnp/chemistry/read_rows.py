"""Rows of molecules to feature arrays: what an isolated process does, with RDKit and numpy but without torch.

A row is a SMILES, or a graph ``[node types, [[i, j, edge type], ...]]`` with numbers of the schema's names.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from rdkit import Chem, rdBase

from graphfnp.chemistry.atoms import BOND_TYPES, read_token
from graphfnp.chemistry.descriptors import descriptor_arrays, descriptors_of
from graphfnp.chemistry.molecule_arrays import Arrays, featurise
from graphfnp.chemistry.read_smiles import logged_reason, read_molecule, too_complex, too_many_cycles
from graphfnp.chemistry.sketches import Names, molecule_or_sketch, structure_to_mol
from graphfnp.chemistry.standardise import StandardForm, form_arrays, standard_form
from graphfnp.graphs.descriptors import RDKIT
from graphfnp.graphs.structure import Structure


def typed_atoms(molecule: Chem.Mol, schema: Names) -> Structure | str:
    """Heavy atoms in their order, hydrogens after them where they are nodes; charges go where names carry none."""
    molecule = Chem.AddHs(molecule) if "H" in schema.node_types else Chem.Mol(molecule)
    if "aromatic" not in schema.edge_types:
        Chem.Kekulize(molecule, clearAromaticFlags=True)
    known = {read_token(name): kind for kind, name in enumerate(schema.node_types)}
    charged = any(charge for _, charge in known)
    bonds = {BOND_TYPES[name]: kind for kind, name in enumerate(schema.edge_types) if name in BOND_TYPES}
    kinds = []
    for atom in molecule.GetAtoms():
        kind = known.get((atom.GetAtomicNum(), atom.GetFormalCharge() if charged else 0))
        if kind is None:
            return f"{atom.GetSymbol()}, an element that the model was not trained on"
        kinds.append(kind)
    edges = []
    for bond in molecule.GetBonds():
        if bond.GetBondType() not in bonds:
            return f"a bond of type {str(bond.GetBondType()).lower()}, which the model was not trained on"
        ends = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        edges.append((ends[0], ends[1], bonds[bond.GetBondType()]))
    return Structure(tuple(kinds), tuple(sorted(edges)))


Begin = Callable[[int], bool]


class Target(NamedTuple):
    """How graphs are written: the part of a :class:`~graphfnp.graphs.packed.Schema` that reading needs."""

    features: str = "molecule"  # or "types"
    node_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()
    edge_columns: int = 0
    most_atoms: int | None = None  # hydrogens are not counted
    standardise: bool = False  # SMILES; a graph is taken as it is
    descriptors: tuple[str, ...] = ()  # of SMILES: those that are computed, and columns, which are not read here

    @property
    def is_typed(self) -> bool:
        """Are nodes typed atoms, every hydrogen among them? Else they are heavy atoms with features."""
        return self.features != "molecule"


def read_rows(rows: list[Any], options: Sequence[Any], begin: Begin) -> tuple[list[list[Any]], Arrays]:
    """[row, reason] of the rows that are no molecule; arrays of the others, their rows among them."""
    target, refused, good = target_from(options), [], []
    forms: list[StandardForm | None] = []
    described: list[list[float]] = []

    def read() -> Iterable[Any]:
        for row, given in enumerate(rows):
            if not begin(row):
                return
            form, found = _read(given, target)
            known = [] if isinstance(found, str) else _described(given, form, target)
            if isinstance(found, str) or isinstance(known, str):
                refused.append([row, found if isinstance(found, str) else known])
            else:
                good.append(row)
                forms.append(form)
                described.append(known)
                yield found

    with rdBase.BlockLogs():
        arrays = typed_arrays(list(read()), target.edge_columns) if target.is_typed else featurise(read())
    standard = form_arrays(forms) if target.standardise else {}
    standard |= descriptor_arrays(described, target.descriptors)
    return refused, {**arrays, **standard, "row": np.array(good, dtype=np.int64)}


def are_molecules(rows: list[str], options: Any, begin: Begin) -> tuple[list[bool], Arrays]:
    """Which of the texts are SMILES."""
    with rdBase.BlockLogs():
        return [not isinstance(read_molecule(text), str) for text in _begun(rows, begin)], {}


def read_records(rows: list[str], options: Any, begin: Begin) -> tuple[list[tuple[str, str]], Arrays]:
    """SMILES of each record of an SDF file, and why there is none."""
    with rdBase.BlockLogs():
        return [_record(record) for record in _begun(rows, begin)], {}


def _begun(rows: list[str], begin: Begin) -> Iterator[str]:
    return (text for _, text in takewhile(lambda one: begin(one[0]), enumerate(rows)))


def _record(record: str) -> tuple[str, str]:
    with rdBase.CaptureErrorLog() as log:
        try:
            molecule = Chem.MolFromMolBlock(record)
        except (ValueError, RuntimeError) as error:
            return "", str(error)
    if molecule is None:
        return "", logged_reason(log.messages)
    return (Chem.MolToSmiles(molecule), "") if molecule.GetNumAtoms() else ("", "a record without atoms")


def molecule_of(given: Any, target: Target) -> Chem.Mol | str | None:
    """For a drawing, atoms in the order of nodes; a reason if the row is refused, None if it is none to RDKit."""
    _, found = _read(given, target)
    if isinstance(found, str) or (isinstance(given, str) and isinstance(found, Chem.Mol)):
        return found
    return structure_to_mol(found if isinstance(found, Structure) else _drawn(given), target)


def target_from(options: Sequence[Any]) -> Target:
    """As it comes out of JSON."""
    features, nodes, edges, *rest = options
    return Target(features, tuple(nodes), tuple(edges), *rest)


def _read(given: Any, target: Target) -> tuple[StandardForm | None, Chem.Mol | Structure | str]:
    """What a row is read as, and its standard form where that is asked for."""
    if not isinstance(given, str):
        return None, _graph(given, target)
    if not target.standardise:
        return None, _smiles(given, target)
    form = standard_form(given, target.most_atoms)
    return (None, form) if isinstance(form, str) else (form, _smiles(form.smiles, target))


def _described(given: Any, form: StandardForm | None, target: Target) -> list[float] | str:
    """The descriptors of what was read, or why it has none."""
    if not isinstance(given, str):
        return "a graph, of which no descriptors are known: give a SMILES" if RDKIT in target.descriptors else []
    return descriptors_of(given if form is None else form.smiles, target.descriptors)


def _smiles(text: str, target: Target) -> Chem.Mol | Structure | str:
    molecule = read_molecule(text, target.most_atoms)
    return typed_atoms(molecule, target) if target.is_typed and not isinstance(molecule, str) else molecule


def _graph(given: Sequence[Any], target: Target) -> Chem.Mol | Structure | str:
    """A graph that RDKit may be asked about later, for explanations and drawings, is searched for rings here too."""
    drawn = _drawn(given)
    if reason := too_complex(len(drawn.node_type), [edge[:2] for edge in drawn.edges]):
        return reason
    molecule = structure_to_mol(drawn, target) if target.is_typed else molecule_or_sketch(drawn, target)
    if molecule is not None and (reason := too_many_cycles(molecule)):
        return reason
    return drawn if target.is_typed or molecule is None else molecule


def _drawn(given: Sequence[Any]) -> Structure:
    return Structure(tuple(given[0]), tuple((i, j, kind) for i, j, kind in given[1]))


def typed_arrays(graphs: Sequence[Structure], edge_columns: int) -> Arrays:
    """Structures as :func:`~graphfnp.chemistry.molecule_arrays.featurise` gives molecules; an edge goes both ways."""
    node_type = np.array([kind for graph in graphs for kind in graph.node_type], dtype=np.int64)
    one_way = np.array([edge for graph in graphs for edge in graph.edges], dtype=np.int64).reshape(-1, 3)
    arrays = {
        "x": node_type[:, None],
        "node_type": node_type,
        "edge_index": np.stack([one_way[:, :2], one_way[:, 1::-1]], axis=1).reshape(-1, 2).T,
        "node_ptr": np.cumsum([0, *(graph.num_nodes for graph in graphs)]),
        "edge_ptr": np.cumsum([0, *(2 * len(graph.edges) for graph in graphs)]),
    }
    if edge_columns:
        edge_attr = np.zeros((2 * len(one_way), edge_columns), dtype=np.int64)
        edge_attr[:, 0] = one_way[:, 2].repeat(2)
        arrays["edge_attr"] = edge_attr
    return arrays
