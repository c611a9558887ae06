"""Candidates for structures of rationales: drawn, or parts of training graphs."""

from dataclasses import replace

import torch

from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.graphs.structure import Structure
from graphfnp.methods.rationales import Rationales
from graphfnp.rationales.candidates import nearest_parts, refined_hash
from graphfnp.rationales.config import decoding_for
from tiny_graphs import plain


def test_nearest_parts_come_from_the_class_of_the_rationale(molecules) -> None:
    rationales = Rationales(torch.zeros(2, 3), torch.tensor([0, 1]))
    config = replace(decoding_for(molecules.schema), training_graphs=4)
    found = nearest_parts(rationales, torch.rand(len(molecules), 2), molecules, config, torch.Generator())
    nitrogen = molecules.schema.node_types.index("N")
    of_first = [s for s, r in zip(found.structures, found.owner, strict=True) if r == 0]
    assert of_first
    assert not any(nitrogen in structure.node_type for structure in of_first)  # the class has no nitrogen
    assert any(nitrogen in structure.node_type for structure in found.structures)


def test_hash_is_equal_for_renumbered_structures_only() -> None:
    house, other = plain(*HOUSE), plain(*((4 - a, 4 - b) for a, b in HOUSE))
    assert refined_hash(house) == refined_hash(other)
    assert refined_hash(house) != refined_hash(plain(*CYCLE))
    assert refined_hash(Structure((0, 1), ((0, 1, 0),))) != refined_hash(Structure((0, 1), ((0, 1, 1),)))
