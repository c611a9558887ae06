"""Parts of structures: cuts a chemist would make, patterns, copies of subgraphs."""

import networkx as nx
import pytest
import torch
from rdkit import Chem

from graphfnp.chemistry.alerts import ALERTS, alerts_in
from graphfnp.chemistry.fragments import fragment_smiles, fragments, units
from graphfnp.chemistry.patterns import SubstructureIndex, smarts_of
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.chemistry.structures import structure_to_smiles, structures_from_graphs
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE, generate_ba2motifs
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Pattern, Structure, adjacency, as_networkx, core_numbers, substructure
from graphfnp.kinds.kind_of import kind_of
from graphfnp.report.drawing import picture_structure

SCHEMA = molecule_schema()
PLAIN = Schema(("a", "b"))


def molecule(smiles: str) -> Structure:
    graphs, _, _ = graphs_from_smiles([smiles])
    assert graphs is not None
    return structures_from_graphs(graphs)[0]


def plain(*edges: tuple[int, int]) -> Structure:
    count = 1 + max(max(edge) for edge in edges)
    return Structure((0,) * count, tuple((min(edge), max(edge), 0) for edge in edges))


@pytest.mark.parametrize(
    ("smiles", "sizes"),
    [
        ("CCO", [1, 1, 1]),
        ("Cc1ccccc1[N+](=O)[O-]", [1, 6, 3]),
        ("CC(=O)Nc1ccc2ccccc2c1", [1, 2, 1, 10]),
        ("CS(=O)(=O)C#N", [1, 3, 2]),
        ("O=C1C=CC(=O)C=C1", [8]),  # a quinone is one unit with its oxygens
    ],
)
def test_molecules_are_cut_at_acyclic_single_bonds(smiles: str, sizes: list[int]) -> None:
    assert sorted(map(len, units(molecule(smiles), SCHEMA))) == sorted(sizes)


def test_other_graphs_fall_apart_into_nodes() -> None:
    assert len(kind_of(PLAIN).units(plain(*HOUSE))) == 5


def test_fragments_are_all_connected_unions_of_units_each_once() -> None:
    butane = molecule("CCCC")
    found = list(fragments(butane, SCHEMA, 4))
    assert len(found) == len(set(found)) == 10  # paths of one to four atoms: 4 + 3 + 2 + 1
    assert all(nx.is_connected(as_networkx(substructure(butane, nodes))) for nodes in found)
    star = molecule("CC(C)(C)C")
    assert len(list(fragments(star, SCHEMA, 5))) == 4 + 2**4
    assert max(map(len, fragments(star, SCHEMA, 3))) == 3
    smiles = {
        structure_to_smiles(substructure(m, nodes), SCHEMA)
        for m in [molecule("CCc1ccccc1")]
        for nodes in fragments(m, SCHEMA, 8)
    }
    assert smiles == {"C", "CC", "c1ccccc1", "Cc1ccccc1", "CCc1ccccc1"}


def test_pattern_of_a_part_finds_the_molecules_that_hold_it() -> None:
    graphs, _, _ = graphs_from_smiles(["Cc1ccccc1[N+](=O)[O-]", "Nc1ccccc1", "C[N+](=O)[O-]", "c1ccccc1"])
    assert graphs is not None
    substructures = SubstructureIndex(graphs)
    assert substructures.contain(molecule("O=[N+]([O-])c1ccccc1")).tolist() == [True, False, False, False]
    assert substructures.contain(molecule("Nc1ccccc1")).tolist() == [False, True, False, False]
    assert substructures.contain(molecule("C[N+](=O)[O-]")).tolist() == [False, False, True, False]  # aliphatic carbon
    assert substructures.all_places(molecule("Cc1ccccc1"), [0])[0] == (0, 1, 2, 3, 4, 5, 6)
    smarts = smarts_of(molecule("O=[N+]([O-])c1ccccc1"), SCHEMA)
    assert smarts is not None
    assert Chem.MolFromSmarts(smarts).GetNumAtoms() == 9


def test_hydrogens_that_are_nodes_count_in_the_pattern() -> None:
    names = ("C", "N", "H", "O")
    schema = Schema(("a", "b"), "molecule", (4,), node_types=names, edge_types=("single", "double"), features="types")
    amine = Structure((0, 1, 2, 2), ((0, 1, 0), (1, 2, 0), (1, 3, 0)))
    cut = Structure((0, 1, 2), ((0, 1, 0), (1, 2, 0)))
    query = [Chem.MolFromSmarts(str(smarts_of(one, schema))) for one in (amine, cut)]
    found = [[Chem.MolFromSmiles(smiles).HasSubstructMatch(one) for smiles in ("CN", "CNC", "CN(C)C")] for one in query]
    assert found == [[True, False, False], [True, True, True]]


def test_induced_copies_agree_with_networkx() -> None:
    graphs = structures_from_graphs(generate_ba2motifs(12))
    patterns = [plain(*CYCLE), plain(*HOUSE), plain(*CYCLE, (0, 5)), plain((0, 1), (0, 2), (0, 3), (0, 4), (4, 5))]
    for pattern in patterns:
        search = Pattern(pattern)
        for graph in graphs:
            links = adjacency(graph)
            place = search.first_copy(graph.node_type, links, core_numbers(links))
            whole = as_networkx(graph)
            matcher = nx.algorithms.isomorphism.GraphMatcher(whole, as_networkx(pattern))
            assert bool(place) == (next(matcher.subgraph_isomorphisms_iter(), None) is not None)
            if place:
                assert nx.is_isomorphic(whole.subgraph(place), as_networkx(pattern))


def test_copies_respect_types() -> None:
    graph = Structure((0, 1, 0), ((0, 1, 0), (1, 2, 1)))
    links = adjacency(graph)
    cores = core_numbers(links)
    assert Pattern(Structure((1, 0), ((0, 1, 1),))).first_copy(graph.node_type, links, cores) == (1, 2)
    assert Pattern(Structure((0, 0), ((0, 1, 0),))).first_copy(graph.node_type, links, cores) == ()


def test_core_numbers_tell_cycles_from_what_hangs_on_them() -> None:
    assert core_numbers(adjacency(plain(*HOUSE, (0, 5), (5, 6)))) == [2, 2, 2, 2, 2, 1, 1]


# ---------------------------------------------------------------- alerts


@pytest.mark.parametrize(
    ("smiles", "names"),
    [
        ("O=[N+]([O-])c1ccccc1", {"aromatic nitro"}),
        ("Nc1ccc(C)cc1", {"aromatic amine"}),
        ("C[N+](=O)[O-]", set()),
        ("CN", set()),
        ("CC1CO1", {"three-membered heterocycle"}),
        ("CN(C)N=O", {"nitroso"}),
        ("CC(=O)NO", {"unsubstituted heteroatom-bonded heteroatom"}),
        ("c1ccccc1N=Nc1ccccc1", {"azo-type"}),
        ("CCBr", {"aliphatic halide"}),
        ("Clc1ccccc1", set()),
        ("c1ccc2cc3ccccc3cc2c1", {"polycyclic aromatic system"}),
        ("c1ccc2c(c1)ccc1ccccc12", {"polycyclic aromatic system"}),
        ("c1cc2ccc3cccc4ccc(c1)c2c34", {"polycyclic aromatic system"}),
        ("c1ccc2ccccc2c1", set()),
        ("ClCCN(C)CCCl", {"aliphatic halide", "nitrogen or sulphur mustard"}),
    ],
)
def test_alerts_name_what_a_chemist_would(smiles: str, names: set[str]) -> None:
    assert set(alerts_in(Chem.MolFromSmiles(smiles))) == names


def test_every_alert_can_be_read() -> None:
    assert all(Chem.MolFromSmarts(smarts) is not None for smarts in ALERTS.values())


def test_places_in_plain_graphs_are_the_motif() -> None:
    graphs = generate_ba2motifs(8)
    assert SubstructureIndex(graphs).contain(plain(*HOUSE)).tolist() == [False] * 4 + [True] * 4
    assert all(
        set(place) == set(range(20, 25)) for place in SubstructureIndex(graphs).all_places(plain(*CYCLE), range(4))
    )
    assert isinstance(SubstructureIndex(graphs).contain(plain(*CYCLE)), torch.Tensor)


# ---------------------------------------------------------------- where parts were attached


def test_parts_remember_where_they_were_cut() -> None:
    anisidine = molecule("COc1ccc(N)cc1")
    ring = substructure(anisidine, [1, 2, 3, 4, 5, 6, 7, 8])  # without the methyl group
    assert ring.cut_bonds == (0,)
    assert fragment_smiles(ring, SCHEMA) == "*Oc1ccc(N)cc1"
    assert structure_to_smiles(ring, SCHEMA) == "Nc1ccc(O)cc1"
    bare = substructure(ring, [n for n in range(8) if n not in (0, 5)])
    assert fragment_smiles(bare, SCHEMA) == "*c1ccc(*)cc1"
    svg = picture_structure(bare, SCHEMA).svg()
    assert "path" in svg


def test_patterns_are_free_where_a_part_was_cut_and_only_there() -> None:
    graphs, _, _ = graphs_from_smiles(["Oc1ccccc1", "COc1ccccc1", "CNc1ccccc1", "Nc1ccccc1"])
    assert graphs is not None
    substructures, anisole = SubstructureIndex(graphs), molecule("COc1ccccc1")
    assert substructures.contain(molecule("Oc1ccccc1")).tolist() == [True, False, False, False]
    assert substructures.contain(substructure(anisole, range(1, 8))).tolist() == [True, True, False, False]
    assert "aromatic amine" in kind_of(SCHEMA).alerts(molecule("Nc1ccccc1"))
    assert kind_of(SCHEMA).alerts(substructure(molecule("CNc1ccccc1"), range(1, 8))) == []


def test_a_nitro_group_without_charges_stays_one_when_cut_off() -> None:
    schema = Schema(("a", "b"), "molecule", (3,), node_types=("C", "N", "O"), edge_types=("single", "double"))
    nitromethane = Structure((0, 1, 2, 2), ((0, 1, 0), (1, 2, 1), (1, 3, 0)))
    assert fragment_smiles(substructure(nitromethane, [1, 2, 3]), schema) == "*[N+](=O)[O-]"


def test_attachment_on_an_aromatic_nitrogen_takes_the_place_of_its_hydrogen() -> None:
    pyrrole = substructure(molecule("CCn1cccc1"), range(2, 7))
    assert fragment_smiles(pyrrole, SCHEMA) == "*n1cccc1"
