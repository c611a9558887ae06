"""Decoded rationales of a small trained model: candidates, pruning, evidence, records and explanations."""

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import torch

from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.chemistry.structures import graphs_from_structures, structures_from_graphs
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.motifs import motif_name
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure, as_networkx, substructure
from graphfnp.methods.rationales import Rationales, leans_on
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.candidates import nearest_parts, refined_hash
from graphfnp.rationales.config import DecodingConfig, decoding_for
from graphfnp.rationales.evidence import CORRELATED, Enrichment, agreement, coverage, data_evidence, enrichment
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.find import find_rationales, is_valid
from graphfnp.rationales.kernels import specific_kernel
from graphfnp.rationales.neighbourhoods import node_links
from graphfnp.rationales.pruning import pruned
from graphfnp.rationales.records import rationale_records
from graphfnp.rationales.tokens import with_known_features, with_usual_features
from graphfnp.report.drawing import picture_structure
from graphfnp.report.explanation_page import explanation_records, write_explanations
from graphfnp.report.gallery import write_gallery
from graphfnp.runs.run import Run
from tiny_graphs import small

FEW = {"candidates": 12}


def plain(*edges: tuple[int, int]) -> Structure:
    return Structure((0,) * (1 + max(map(max, edges))), tuple((min(e), max(e), 0) for e in edges))


@pytest.fixture(scope="module")
def molecules() -> PackedGraphs:
    smiles = ["CCO", "CCCO", "CC(=O)O", "c1ccccc1O", "Nc1ccccc1", "O=[N+]([O-])c1ccccc1", "Cc1ccccc1N", "CCN"] * 2
    graphs, _, _ = graphs_from_smiles(smiles, y=[0, 0, 0, 0, 1, 1, 1, 1] * 2)
    assert graphs is not None
    return graphs


@pytest.fixture(scope="module")
def untrained(molecules: PackedGraphs) -> TrainedModel:
    torch.manual_seed(0)
    model = TrainedModel(make_classifier("graphfnp", molecules.schema, small("graphfnp")))
    model.classifier.start_epoch(9, 10, molecules)
    return model


@pytest.mark.parametrize("training_graphs", [0, 3])
def test_rationales_of_molecules_are_molecules(untrained, molecules, training_graphs: int) -> None:
    config = replace(decoding_for(molecules.schema), training_graphs=training_graphs, largest=8, **FEW)
    found = find_rationales(untrained, config, 0, molecules)
    assert found is not None
    assert len(found.structures) == len(found.source) == len(found) == 4
    drawn = [structure for structure in found.structures if structure is not None]
    assert all(structure_to_mol(structure, molecules.schema) is not None for structure in drawn)
    reached = [structure is not None for structure in found.structures]
    assert reached == (found.similarity >= 0.5).tolist()  # what the kernel does not answer to is not shown
    if not training_graphs:
        assert set(found.source) == {"decoder"}
    again = find_rationales(untrained, config, 0, molecules)
    assert [s and s.edges for s in found.structures] == [s and s.edges for s in again.structures]


def test_parts_alone_can_be_candidates(untrained, molecules) -> None:
    config = replace(decoding_for(molecules.schema), candidates=0)
    found = find_rationales(untrained, config, 0, molecules)
    assert set(found.source) == {"training part"}
    with pytest.raises(InvalidConfig):
        DecodingConfig(candidates=0, training_graphs=0)


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


# ---------------------------------------------------------------- pruning


def test_pruning_keeps_the_floor_and_takes_what_the_kernel_does_not_need(tiny_run: Run) -> None:
    model, config = tiny_run.model, DecodingConfig()
    with_tail, rationales = plain(*CYCLE, (0, 5)), model.classifier.rationales()
    owner = torch.tensor([0])
    none_may_go = pruned(model, rationales, [with_tail], owner, torch.tensor([1.1]), config)[0]
    assert none_may_go.num_nodes == 6
    free = pruned(model, rationales, [with_tail], owner, torch.tensor([0.0]), config)[0]
    assert nx.is_connected(as_networkx(free))
    assert free.num_nodes == config.smallest


def test_a_kernel_to_the_other_class_counts_against_a_structure() -> None:
    rationales = Rationales(torch.zeros(3, 2), torch.tensor([0, 0, 1]))
    kernel = torch.tensor([[0.8, 0.6, 0.5], [0.1, 0.2, 0.9]])
    expected = torch.tensor([[0.4, 0.3, 0.5 * 0.2], [0.1 * 0.1, 0.2 * 0.1, 0.9 * 0.8]])
    assert torch.allclose(specific_kernel(kernel, rationales), expected)


def test_restored_charges_must_cancel() -> None:
    schema = Schema(("a", "b"), "molecule", (3,), node_types=("C", "N", "O"), edge_types=("single", "double"))
    assert is_valid(Structure((0, 1, 2, 2), ((0, 1, 0), (1, 2, 1), (1, 3, 0))), schema)
    assert not is_valid(Structure((0, 1, 0, 0, 0), ((0, 1, 0), (1, 2, 0), (1, 3, 0), (1, 4, 0))), schema)


# ---------------------------------------------------------------- evidence in the data


def test_coverage_counts_graphs_above_one_half() -> None:
    correlation = torch.tensor([[0.9, 0.1], [0.6, 0.7], [0.4, 0.5], [0.8, 0.0], [0.9, 0.0]])
    counts = coverage(correlation, torch.tensor([0, 0, 0, 1, -1]), rationale=0, label=0)
    assert (counts.own, counts.own_total, counts.others, counts.others_total, counts.followers) == (2, 3, 1, 1, 2)
    assert counts.precision == pytest.approx(2 / 3)
    assert CORRELATED == 0.5


def test_enrichment_is_fishers_exact_test() -> None:
    holds = torch.tensor([True] * 3 + [False] + [True] + [False] * 3)
    found = enrichment("tea", holds, torch.tensor([0] * 4 + [1] * 4), 0)
    assert found == Enrichment("tea", 3, 4, 1, 4)
    assert found.p_value == pytest.approx(17 / 70)  # the lady who tasted tea
    assert found.shares == (0.75, 0.25)


def test_structures_are_found_again_by_isomorphism_or_fingerprint(molecules) -> None:
    assert agreement(
        [plain(*HOUSE), plain(*CYCLE)], [plain(*((4 - a, 4 - b) for a, b in HOUSE))], Schema(("a", "b"))
    ) == [1, 0]
    phenol, aniline = structures_from_graphs(molecules.select([3, 4]))
    same, alike = agreement([aniline, phenol], [aniline], molecules.schema)
    assert same == 1
    assert 0 < alike < 1


def test_records_say_in_a_sentence_what_was_found(untrained, molecules, tmp_path: Path) -> None:
    nitrobenzene = molecules.select([5])
    structure = structures_from_graphs(nitrobenzene)[0]
    rationales = untrained.classifier.rationales()
    ones = torch.ones(len(rationales))
    found = replace(
        rationales, structures=(structure,) * 4, class_probability=ones, similarity=ones, log_odds=ones,
        source=("decoder",) * 4,
    )  # fmt: skip
    evidence = data_evidence(untrained, found, molecules, molecules)
    records = rationale_records(found, molecules.schema, evidence, [found])
    last = records[-1]
    assert last["smiles"] == "O=[N+]([O-])c1ccccc1"
    assert last["valid"]
    assert last["alerts"] == ["aromatic nitro"]
    assert last["stability"] == 1
    assert (last["pattern"]["own"], last["pattern"]["others"]) == (2, 0)
    assert "aromatic nitro" in last["sentence"]
    assert "present in 25 % of 1 and 0 % of the others" in last["sentence"]
    page = write_gallery(tmp_path, "Title", found, records, molecules, molecules.schema)
    assert "aromatic nitro" in page.read_text()
    assert json.loads((tmp_path / "rationales.json").read_text()) == json.loads(json.dumps(records))
    assert (tmp_path / "rationales.smi").read_text().startswith("O=[N+]([O-])c1ccccc1 ")
    assert "<svg" in (tmp_path / "rationale-1.svg").read_text()


@pytest.mark.parametrize(
    ("edges", "name"),
    [
        (CYCLE, "cycle of 5 nodes"),
        (HOUSE, "house"),
        ([*CYCLE, (0, 5)], "cycle of 5 nodes with 1 more"),
        ([(0, 1), (0, 2), (0, 3)], "star of 4 nodes"),
        ([(0, 1), (1, 2)], "path of 3 nodes"),
        ([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], "tree of 6 nodes"),
    ],
)
def test_motifs_have_names(edges: list, name: str) -> None:
    assert motif_name(plain(*edges)) == name


# ---------------------------------------------------------------- explanations


def test_explanation_marks_the_motif_and_scores_every_edge(tiny_run: Run, tmp_path: Path) -> None:
    model, graphs = tiny_run.model, tiny_run.dataset().test
    rationales = model.classifier.rationales()
    motifs = tuple(plain(*(CYCLE if label == 0 else HOUSE)) for label in rationales.label.tolist())
    found = explain_by_rationales(model, replace(rationales, structures=motifs), graphs)
    assert found.edge_score.shape == (graphs.edge_index.shape[1],)
    assert bool(((found.edge_score >= 0) & (found.edge_score <= 1)).all())
    assert torch.allclose(found.weight.sum(1), torch.ones(len(graphs)), atol=1e-4)
    right = torch.where(found.target == graphs.y)[0].tolist()
    for graph in right:
        for nodes in found.places[graph].values():
            assert set(nodes) == set(range(20, 25))
    by_pair = {}
    start, end = graphs.edge_ptr[:2].tolist()
    for (a, b), score in zip(graphs.edge_index[:, start:end].T.tolist(), found.edge_score.tolist(), strict=False):
        by_pair.setdefault(frozenset((a, b)), set()).add(round(score, 6))
    assert all(len(scores) == 1 for scores in by_pair.values()), "both directions score alike"
    records = explanation_records(found, rationales)
    assert len(records[0]["edges"]) == (end - start) // 2
    page = write_explanations(tmp_path, "Why", found, replace(rationales, structures=motifs))
    assert "explanations.json" in page.read_text()


def test_a_node_is_as_linked_as_its_neighbourhoods_encoded_by_themselves(tiny_run: Run) -> None:
    model, graphs = tiny_run.model, tiny_run.dataset().test.select([0, 1])
    target = torch.tensor([0, 1])
    found = node_links(model, graphs, target)
    label, expected = model.classifier.rationales().label, []
    for number, whole in enumerate(structures_from_graphs(graphs)):
        graph = as_networkx(whole)
        balls = {node: [node, *graph[node]] for node in graph}
        small = graphs_from_structures([substructure(whole, ball) for ball in balls.values()], graphs.schema)
        with torch.no_grad():
            kappa = model.classifier.correlation_probability(small.batch())[:, label == target[number]]
        linked = dict(zip(balls, (1 - (1 - kappa).prod(-1)).tolist(), strict=True))
        for node in graph:
            holding = [(1 / len(ball), linked[centre]) for centre, ball in balls.items() if node in ball]
            expected.append(sum(w * value for w, value in holding) / sum(w for w, _ in holding))
    assert torch.allclose(found, torch.tensor(expected), atol=1e-4)


def test_a_graph_that_nothing_reaches_leans_on_nothing() -> None:
    assert leans_on(0.99) == "leans on nothing the model knows"
    assert leans_on(0.2) is None


# ---------------------------------------------------------------- sentences


def test_drawn_features_become_the_nearest_known_words() -> None:
    schema = Schema(("bad", "good"), "text", node_width=2)
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = PackedGraphs.build(
        vectors, edges, torch.tensor([0, 3]), torch.tensor([0, 4]), torch.tensor([1]), schema, text=["very good film"]
    )
    drawn = Structure((0, 0), ((0, 1, 0),), x=torch.tensor([[0.9, 0.1], [0.1, 0.8]]))
    found = with_known_features([drawn], graphs)[0]
    assert found.names == ("good", "film")
    assert torch.equal(found.x, vectors[1:])
    assert structures_from_graphs(graphs)[0].names == ("very", "good", "film")
    assert substructure(structures_from_graphs(graphs)[0], [1, 2]).names == ("good", "film")
    twice = replace(graphs, text=["good good film"])
    assert torch.equal(with_usual_features([found], twice)[0].x, torch.tensor([[0.5, 0.0], [0.0, 1.0]]))
    svg = picture_structure(found, schema).svg()
    assert "good" in svg
    assert "film" in svg
