"""Valence as rules for the decoder: masks that let it write down molecules only."""

import torch
from rdkit import Chem
from torch import Tensor

from graphfnp.chemistry.atoms import read_token
from graphfnp.graphs.packed import Schema
from graphfnp.methods.graphfnp.decoder.sampling import PartialGraphs

ORGANIC = {1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 34, 35, 53}
AROMATIC = {6, 7, 8, 16}
LARGEST_VALENCE = {15: 5, 16: 6}  # phosphates and sulfones; other elements have their default valence
ORDER = {"single": 1, "double": 2, "triple": 3, "aromatic": 1}  # an aromatic atom owes one more, if it must


def valence_rules(schema: Schema) -> "ValenceRules | None":
    """The rules of this schema's names; None where they do not name molecules."""
    if not any(read_token(name)[0] in ORGANIC for name in schema.node_types):
        return None
    return ValenceRules(schema)


class ValenceRules:
    """No atom gets more bonds than its element and charge allow, and while nodes are to come one bond stays open.

    An aromatic bond counts one, and an atom with aromatic bonds needs a double bond besides unless it can do without
    (pyrrole, furan, thiophene). Where names carry no charges a nitro group is N with four bonds, two of its neighbours
    oxygen.
    """

    def __init__(self, schema: Schema) -> None:
        atoms = [read_token(name) for name in schema.node_types]
        table = Chem.GetPeriodicTable()
        default = [table.GetDefaultValence(max(number - charge, 0)) if number else 0 for number, charge in atoms]
        known = [number in ORGANIC for number, _ in atoms]
        self.aromatic_room = torch.tensor([max(v, 0) * k for v, k in zip(default, known, strict=True)])
        self.room = torch.tensor([
            LARGEST_VALENCE.get(number, valence) if charge == 0 else valence
            for (number, charge), valence in zip(atoms, self.aromatic_room.tolist(), strict=True)
        ]) * torch.tensor(known)  # fmt: skip
        self.may_be_aromatic = torch.tensor([number in AROMATIC for number, _ in atoms]) & (self.aromatic_room > 1)
        neutral_nitrogen = [(number in (7, 15, 33)) and charge == 0 for number, charge in atoms]
        self.owes_double = (self.aromatic_room > 2) & ~torch.tensor(neutral_nitrogen)
        order = [0] + [0 if name == "other" else ORDER.get(name, 1) for name in schema.edge_types]
        self.order = torch.tensor(order)
        self.forbidden = torch.tensor([False] + [name == "other" for name in schema.edge_types])
        self.is_aromatic = torch.tensor([False] + [name == "aromatic" for name in schema.edge_types])
        self.is_double = torch.tensor([False] + [name == "double" for name in schema.edge_types])
        charged = any(charge for _, charge in atoms)
        self.nitro = torch.tensor([number == 7 and not charged for number, _ in atoms])
        self.oxygen = torch.tensor([number == 8 for number, _ in atoms])
        self.left = torch.zeros(0)  # bonds that the atoms before the present one can still take

    def node_types(self, partial: PartialGraphs) -> Tensor:
        """Atoms with room for a bond; for two of them if the graph would be closed otherwise and more are to come."""
        more = partial.step + 1 < partial.size
        self.left = self._open(partial, slice(0, partial.step)).sum(-1)  # kept for the edges of this node
        return self.room >= 1 + (more & (partial.step > 0) & (self.left <= 1)).long()[:, None]

    def edge_classes(self, partial: PartialGraphs, old: int) -> Tensor:
        """Bonds for which both atoms have room."""
        new, kinds = partial.step, partial.node_type
        allowed = ~self.forbidden.expand(len(kinds), -1).clone()
        for node, other in ((new, old), (old, new)):
            kind, open_ = kinds[:, node], self._open(partial, slice(node, node + 1))
            aromatic = self.is_aromatic[partial.edge_class[:, node]].any(-1)
            # The first aromatic bond brings the debt of a double bond, and the smaller valence of aromatic atoms.
            first = ~aromatic[:, None] & self.is_aromatic
            cost = self.order + first * (self.owes_double[kind] + self.room[kind] - self.aromatic_room[kind])[:, None]
            fits = cost <= open_
            fits |= self._completes_nitro(partial, node, other)[:, None] & self._nitro_bond(partial, node)
            allowed &= fits & (self.may_be_aromatic[kind][:, None] | ~self.is_aromatic)
        more = (partial.step + 1 < partial.size)[:, None]
        taken = self.order[partial.edge_class[:, new]].sum(-1)
        left = (self.left - taken + self._open(partial, slice(new, new + 1))[:, 0])[:, None] - 2 * self.order
        return (allowed & ((left > 0) | ~more)) | (torch.arange(len(self.order)) == 0)

    def _open(self, partial: PartialGraphs, nodes: slice) -> Tensor:
        """[candidates, nodes]: bonds that each of these atoms can still take."""
        kinds, edges = partial.node_type[:, nodes], partial.edge_class[:, nodes]
        aromatic = self.is_aromatic[edges].any(-1)
        room = torch.where(aromatic, self.aromatic_room[kinds] - self.owes_double[kinds].long(), self.room[kinds])
        return (room - self.order[edges].sum(-1)).clamp(min=0)

    def _completes_nitro(self, partial: PartialGraphs, node: int, other: int) -> Tensor:
        """Is this a nitrogen with one oxygen already, and the other atom an oxygen too?"""
        kinds = partial.node_type
        bonded = partial.edge_class[:, node] > 0
        oxygens = (bonded & self.oxygen[kinds]).sum(-1)
        return self.nitro[kinds[:, node]] & self.oxygen[kinds[:, other]] & (oxygens == 1) & (bonded.sum(-1) <= 2)

    def _nitro_bond(self, partial: PartialGraphs, node: int) -> Tensor:
        """[candidates, classes]: the bond that makes it four with exactly one double bond to oxygen."""
        kinds, edges = partial.node_type, partial.edge_class[:, node]
        used = self.order[edges].sum(-1, keepdim=True)
        has_double = (self.is_double[edges] & self.oxygen[kinds]).any(-1, keepdim=True)
        return (used + self.order == 4) & (has_double ^ self.is_double) & (self.order > 0) & (self.order < 3)
