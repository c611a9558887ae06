"""Valence rules: whatever the decoder is inclined to draw, what comes out is a molecule."""

import pytest
import torch

from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.smiles import molecule_schema
from graphfnp.chemistry.structures import structure_to_smiles
from graphfnp.chemistry.valence import valence_rules
from graphfnp.datasets.tu import ATOMS
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder, GraphDecoderConfig
from graphfnp.methods.graphfnp.decoder.sampling import PartialGraphs, sample

HEAVY = molecule_schema()
EXPLICIT = Schema(
    ("mutagen", "nonmutagen"), "molecule", (len(ATOMS),), edge_sizes=(3,), node_types=ATOMS,
    edge_types=("single", "double", "triple"), features="types",
)  # fmt: skip
NAMED = {"heavy atoms, aromatic bonds and charges": HEAVY, "hydrogens as nodes": EXPLICIT}


@pytest.mark.parametrize("schema", NAMED.values(), ids=NAMED)
def test_every_drawn_molecule_sanitises(schema: Schema) -> None:
    torch.manual_seed(0)
    decoder = GraphDecoder(schema, 4, GraphDecoderConfig(width=16, layers=1))
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(3, 16, (300,), generator=generator)
    z = 3 * torch.randn(300, 4, generator=generator)
    drawn = sample(decoder, z, sizes, temperature=1.5, generator=generator, connected=True, rules=valence_rules(schema))
    free = sample(decoder, z, sizes, temperature=1.5, generator=generator, connected=True)
    molecules = [structure_to_mol(kind_of(schema).repaired(structure), schema) for structure in drawn]
    assert all(molecule is not None for molecule in molecules)
    assert sum(structure_to_mol(structure, schema) is not None for structure in free) < 100
    kept = sum(kind_of(schema).repaired(structure).num_nodes for structure in drawn)
    assert kept > 0.8 * int(sizes.sum()), "few nodes should be lost as stray pieces"


def test_graphs_that_are_no_molecules_have_no_rules() -> None:
    assert kind_of(Schema(("a", "b"))).decoding_rules() is None
    assert valence_rules(Schema(("a", "b"), "molecule", (2,), node_types=("0", "1"))) is None


def partial(schema: Schema, tokens: str, *bonds: tuple[int, int, str], size: int = 9) -> PartialGraphs:
    """All tokens are there, the last is new; bonds are those decided so far."""
    kinds = torch.zeros(1, size, dtype=torch.long)
    names = tokens.split()
    kinds[0, : len(names)] = torch.tensor([schema.node_types.index(name) for name in names])
    edges = torch.zeros(1, size, size, dtype=torch.long)
    for i, j, name in bonds:
        edges[0, i, j] = edges[0, j, i] = 1 + schema.edge_types.index(name)
    return PartialGraphs(
        kinds, torch.zeros(1, size, 0), edges, torch.zeros(1, size), torch.tensor([size]), len(names) - 1
    )


def allowed(schema: Schema, graphs: PartialGraphs, old: int) -> set[str]:
    rules = valence_rules(schema)
    assert rules is not None
    rules.node_types(graphs)  # as the decoder asks: first the node, then its edges
    mask = rules.edge_classes(graphs, old)[0].tolist()
    return {name for name, yes in zip(("none", *schema.edge_types), mask, strict=True) if yes}


@pytest.mark.parametrize(
    ("tokens", "bonds", "old", "kinds"),
    [
        ("C C", (), 0, {"none", "single", "double", "triple", "aromatic"}),
        ("C O", (), 0, {"none", "single", "double", "aromatic"}),
        ("C F", (), 0, {"none", "single"}),
        ("C C C", ((0, 1, "triple"),), 0, {"none", "single"}),
        ("C C C C", ((0, 1, "aromatic"), (0, 2, "aromatic")), 0, {"none", "single", "aromatic"}),
        ("S O", (), 0, {"none", "single", "double", "aromatic"}),
        ("S C C O", ((0, 1, "aromatic"), (0, 2, "aromatic")), 0, {"none"}),  # thiophene's sulphur has no room
        ("N C C O", ((0, 1, "single"), (0, 2, "double")), 0, {"none"}),
        ("N+ C O O-", ((0, 1, "single"), (0, 2, "double")), 0, {"none", "single"}),
    ],
)  # fmt: skip
def test_bonds_that_atoms_have_room_for(tokens: str, bonds: tuple, old: int, kinds: set[str]) -> None:
    assert allowed(HEAVY, partial(HEAVY, tokens, *bonds), old) == kinds


def test_nitro_group_without_charges_may_be_written() -> None:
    assert allowed(EXPLICIT, partial(EXPLICIT, "C N O O", (0, 1, "single"), (1, 2, "double")), 1) == {"none", "single"}
    assert "double" in allowed(EXPLICIT, partial(EXPLICIT, "C N O O", (0, 1, "single"), (1, 2, "single")), 1)
    assert allowed(EXPLICIT, partial(EXPLICIT, "C N O C", (0, 1, "single"), (1, 2, "double")), 1) == {"none"}


def test_a_graph_stays_open_while_nodes_are_to_come() -> None:
    rules = valence_rules(EXPLICIT)
    assert rules is not None
    names = lambda mask: {name for name, yes in zip(ATOMS, mask[0].tolist(), strict=True) if yes}  # noqa: E731
    begun = partial(EXPLICIT, "H C", size=3)  # a hydrogen is there, the second atom is to be chosen
    assert "H" not in names(rules.node_types(begun))
    assert {"C", "N", "O"} <= names(rules.node_types(begun))
    last = partial(EXPLICIT, "H C", size=2)
    assert "H" in names(rules.node_types(last))
    assert not names(rules.node_types(last)) & {"Na", "K", "Li", "Ca"}


@pytest.mark.parametrize(
    ("tokens", "bonds", "smiles"),
    [
        ("C C C C C", [(i, (i + 1) % 5, "aromatic") for i in range(5)], "C1=CCC=C1"),
        ("C C C", [(0, 1, "aromatic"), (1, 2, "aromatic")], "CCC"),
        ("C C C C C C O", [*((i, (i + 1) % 6, "aromatic") for i in range(6)), (0, 6, "aromatic")], "Oc1ccccc1"),
        ("C C O F", [(0, 1, "single"), (1, 2, "single")], "CCO"),
    ],
)  # fmt: skip
def test_what_no_ring_can_bear_is_repaired(tokens: str, bonds: list, smiles: str) -> None:
    kinds = tuple(HEAVY.node_types.index(token) for token in tokens.split())
    edges = tuple((min(i, j), max(i, j), HEAVY.edge_types.index(name)) for i, j, name in bonds)
    assert structure_to_smiles(kind_of(HEAVY).repaired(Structure(kinds, edges)), HEAVY) == smiles
