"""Molecules drawn by RDKit, in the report's colours. Imports no torch: an isolated process draws rows of requests."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from rdkit import Chem, rdBase
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from graphfnp.chemistry.read_rows import molecule_of, target_from
from graphfnp.report.palette import ALERT, ELEMENTS, INK, PAPER

WIDTH, HEIGHT = 240, 180
NODE = "graphfnp_node"  # the atom's node number: hydrogens are left out of the drawing, so positions shift


@dataclass(frozen=True)
class MoleculePicture:
    """A molecule with some of its nodes and edges (as pairs of node numbers) marked."""

    molecule: Chem.Mol
    width: int
    height: int
    nodes: Collection[int] = field(default_factory=frozenset)
    edges: Collection[tuple[int, int]] = field(default_factory=frozenset)

    def svg(self) -> str:
        drawer = rdMolDraw2D.MolDraw2DSVG(self.width, self.height)
        shown = Chem.Mol(self.molecule)
        for atom in shown.GetAtoms():
            atom.SetIntProp(NODE, atom.GetIdx())
        with rdBase.BlockLogs():
            shown = Chem.RemoveHs(shown)
        rdDepictor.Compute2DCoords(shown)
        rdDepictor.StraightenDepiction(shown)
        options: Any = drawer.drawOptions()  # its type stubs take every option for a method
        options.padding = 0.08
        options.dummiesAreAttachments = True  # a wavy line where a part was cut out
        options.bondLineWidth = 1.6
        options.fixedBondLength = 30
        options.setBackgroundColour(to_rgb(PAPER))
        options.setAtomPalette({-1: to_rgb(INK), 6: to_rgb(INK), **_element_colours()})
        options.setHighlightColour((*to_rgb(ALERT), 0.45))
        options.highlightBondWidthMultiplier = 10
        node = [atom.GetIntProp(NODE) for atom in shown.GetAtoms()]
        pairs = {frozenset(pair) for pair in self.edges}
        bonds = [
            bond.GetIdx()
            for bond in shown.GetBonds()
            if frozenset((node[bond.GetBeginAtomIdx()], node[bond.GetEndAtomIdx()])) in pairs
        ]
        # A marked bond to a hydrogen that is not drawn marks the atom it hangs on.
        drawn = set(node)
        marked = {*self.nodes, *(number for pair in pairs if not pair <= drawn for number in pair)}
        atoms = [position for position, number in enumerate(node) if number in marked]
        rdMolDraw2D.PrepareAndDrawMolecule(drawer, shown, highlightAtoms=atoms, highlightBonds=bonds, kekulize=True)
        drawer.FinishDrawing()
        return drawer.GetDrawingText()


def _element_colours() -> dict[int, tuple[float, float, float]]:
    table = Chem.GetPeriodicTable()
    return {table.GetAtomicNumber(symbol): to_rgb(colour) for symbol, colour in ELEMENTS.items() if symbol not in "CH"}


def to_rgb(colour: str) -> tuple[float, float, float]:
    """#ff0000 -> (1.0, 0.0, 0.0)"""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def draw_rows(rows: list[Any], options: Sequence[Any], begin: Callable[[int], bool]) -> tuple[list[list[str]], dict]:
    """For each (row, nodes, edges) its SVG, empty if RDKit knows no such molecule, and why there is nothing to draw."""
    target, found = target_from(options), []
    with rdBase.BlockLogs():
        for number, (given, nodes, edges) in enumerate(rows):
            if not begin(number):
                break
            molecule = molecule_of(given, target)
            if molecule is None or isinstance(molecule, str):
                found.append(["", molecule or ""])
                continue
            marked = {(a, b) for a, b in edges} or _within(molecule, set(nodes))
            found.append([MoleculePicture(molecule, WIDTH, HEIGHT, set(nodes), marked).svg(), ""])
    return found, {}


def _within(molecule: Chem.Mol, nodes: set[int]) -> set[tuple[int, int]]:
    """Bonds between marked nodes."""
    ends = ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds())
    return {(a, b) for a, b in ends if a in nodes and b in nodes}
