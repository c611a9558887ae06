"""Structures: back into graphs with the features of any schema, and into molecules and SMILES."""

import os
from pathlib import Path

import pandas as pd
import pytest
import torch
from rdkit import Chem, rdBase

from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.chemistry.structures import graphs_from_structures, structure_to_smiles, structures_from_graphs
from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.datasets.load import load
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure

SCHEMA = molecule_schema()
SINGLE, DOUBLE, TRIPLE, AROMATIC, OTHER = range(5)


def structure(tokens: str, *edges: tuple[int, int, int]) -> Structure:
    return Structure(tuple(SCHEMA.node_types.index(token) for token in tokens.split()), edges)


def ring(tokens: str, kind: int = AROMATIC) -> Structure:
    size = len(tokens.split())
    return structure(tokens, *((i, i + 1, kind) for i in range(size - 1)), (0, size - 1, kind))


@pytest.mark.parametrize(
    ("given", "smiles"),
    [
        (structure("C C O", (0, 1, SINGLE), (1, 2, SINGLE)), "CCO"),
        (structure("C N+ O O-", (0, 1, SINGLE), (1, 2, DOUBLE), (1, 3, SINGLE)), "C[N+](=O)[O-]"),
        (structure("C N O O", (0, 1, SINGLE), (1, 2, DOUBLE), (1, 3, DOUBLE)), "C[N+](=O)[O-]"),
        (ring("C C C C C C"), "c1ccccc1"),
        (ring("C C C C N"), "c1cc[nH]c1"),
        (ring("C N C C N"), "c1c[nH]cn1"),
        (ring("C C C C C N"), "c1ccncc1"),
        (ring("C C C C O"), "c1ccoc1"),
        (structure("Na+ Cl-"), "[Cl-].[Na+]"),
        (structure("* C", (0, 1, SINGLE)), "*C"),
    ],
)
def test_structures_spell_molecules(given, smiles):
    assert structure_to_smiles(given, SCHEMA) == smiles


@pytest.mark.parametrize(
    "given",
    [
        structure("C C", (0, 1, AROMATIC)),  # aromatic outside a ring
        ring("C C C C C"),  # five carbons cannot be kekulised
        structure("F F F", (0, 1, SINGLE), (1, 2, SINGLE)),  # too many bonds
    ],
)
def test_impossible_molecule_is_none_and_still_becomes_a_graph(given, capfd):
    assert structure_to_mol(given, SCHEMA) is None
    assert structure_to_smiles(given, SCHEMA) is None
    graphs = graphs_from_structures([given], SCHEMA)
    assert structures_from_graphs(graphs)[0].node_type == given.node_type
    assert len(graphs.edge_index[0]) == 2 * len(given.edges)
    assert capfd.readouterr() == ("", "")


def test_names_of_another_schema_spell_molecules_too():
    schema = Schema(
        ("0",), "molecule", (3,), node_types=("H", "O", "R9"), edge_types=("single", "double"), features="types"
    )
    assert structure_to_smiles(Structure((0, 1, 0), ((0, 1, 0), (1, 2, 0))), schema) == "O"
    assert structure_to_smiles(Structure((2, 1), ((0, 1, 0),)), schema) == "*O"


def test_molecule_features_come_back_from_structures():
    graphs, _, _ = graphs_from_smiles(
        ["CC(=O)Oc1ccccc1C(=O)O", "c1cc[nH]c1", "C[N+](C)(C)C.[Cl-]", "C", "CC#N"], y=[0, 1, 0, 1, -1]
    )
    again = graphs_from_structures(structures_from_graphs(graphs), graphs.schema, graphs.y)
    for name in ("x", "edge_index", "edge_attr", "node_type", "node_ptr", "edge_ptr", "y"):
        assert torch.equal(getattr(graphs, name), getattr(again, name)), name


def test_round_trip_of_real_molecules():
    path = Path(os.environ.get("GRAPHFNP_DATA", "")) / "BBBP" / "BBBP.csv"
    if not path.is_file():
        pytest.skip("BBBP.csv is not in the data folder (GRAPHFNP_DATA)")
    graphs, _, _ = graphs_from_smiles(pd.read_csv(path)["smiles"].tolist()[::3])
    same = 0
    with rdBase.BlockLogs():
        for text, one in zip(graphs.text, structures_from_graphs(graphs), strict=True):
            molecule = structure_to_mol(one, graphs.schema)
            wanted = Chem.MolToSmiles(Chem.MolFromSmiles(text), isomericSmiles=False)
            same += molecule is not None and Chem.MolToSmiles(molecule, isomericSmiles=False) == wanted
    assert same / len(graphs) >= 0.95


def test_degree_features_come_back_from_structures():
    graphs = generate_ba2motifs(6)
    again = graphs_from_structures(structures_from_graphs(graphs), graphs.schema, graphs.y)
    assert torch.equal(graphs.x, again.x)
    assert torch.equal(graphs.edge_index, again.edge_index)


def test_type_features_and_edge_types_come_back():
    schema = Schema(
        ("0", "1"),
        node_sizes=(3,),
        edge_sizes=(2,),
        node_types=("a", "b", "c"),
        edge_types=("x", "y"),
        features="types",
    )
    given = [Structure((2, 0, 1), ((0, 1, 1), (1, 2, 0))), Structure((1,), ())]
    graphs = graphs_from_structures(given, schema)
    assert graphs.x.flatten().tolist() == [2, 0, 1, 1]
    assert graphs.edge_attr.flatten().tolist() == [1, 1, 0, 0]
    assert graphs.y.tolist() == [-1, -1]
    assert [(one.node_type, one.edges) for one in structures_from_graphs(graphs)] == [
        (s.node_type, s.edges) for s in given
    ]


def test_continuous_features_are_those_of_the_structure():
    schema = Schema(("0", "1"), node_width=2)
    given = Structure((0, 0), ((0, 1, 0),), x=torch.tensor([[0.5, 1.0], [2.0, 3.0]]))
    graphs = graphs_from_structures([given, given], schema)
    assert torch.equal(graphs.x[2:], given.x)
    assert torch.equal(structures_from_graphs(graphs)[1].x, given.x)
    with pytest.raises(InvalidGraphs, match="without node features"):
        graphs_from_structures([Structure((0,), ())], schema)


def test_loops_and_second_directions_are_left_out_of_structures():
    graphs = PackedGraphs.build(
        x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 1, 1], [0, 0, 1]]), node_ptr=torch.tensor([0, 2]),
        edge_ptr=torch.tensor([0, 3]), y=torch.tensor([0]), schema=Schema(("0",), node_width=1),
    )  # fmt: skip
    assert structures_from_graphs(graphs)[0].edges == ((0, 1, 0),)


def test_nitro_group_of_names_without_charges_gets_its_charges():
    schema = Schema(("a", "b"), "molecule", (3,), node_types=("C", "N", "O"), edge_types=("single", "double"))
    nitromethane = Structure((0, 1, 2, 2), ((0, 1, 0), (1, 2, 1), (1, 3, 0)))
    assert structure_to_smiles(nitromethane, schema) == "C[N+](=O)[O-]"


def test_mutagenicity_graphs_are_molecules(data_folder):
    graphs = load("mutagenicity", data=data_folder).graphs
    molecules = [structure_to_mol(structure, graphs.schema) for structure in structures_from_graphs(graphs)]
    assert sum(molecule is not None for molecule in molecules) == 4334  # three hold an oxygen with three bonds
