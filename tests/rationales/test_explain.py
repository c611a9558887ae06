"""Explanations by rationales: links of nodes, marks on edges, and graphs that nothing reaches."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import torch

from graphfnp.chemistry.structures import graphs_from_structures, structures_from_graphs
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.graphs.networkx_graphs import from_networkx
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import as_networkx, substructure
from graphfnp.methods.rationales import Rationales
from graphfnp.methods.registry import make_classifier
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.neighbourhoods import distinct, neighbourhoods, node_links
from graphfnp.report.explanation_page import explanation_records, write_explanations
from graphfnp.runs.run import Run
from tiny_graphs import plain


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
    page = write_explanations(tmp_path, "Why", model, found, replace(rationales, structures=motifs))
    assert "explanations.json" in page.read_text()


def test_a_node_is_as_linked_as_its_state_and_its_neighbourhoods_encoded_by_themselves(tiny_run: Run) -> None:
    model, graphs = tiny_run.model, tiny_run.dataset().test.select([0, 1])
    target = torch.tensor([0, 1])
    found = node_links(model, graphs, target)
    label, expected = model.classifier.rationales().label, []
    for number, whole in enumerate(structures_from_graphs(graphs)):
        graph = as_networkx(whole)
        balls = {node: sorted(nx.ego_graph(graph, node, radius=2)) for node in graph}
        small = graphs_from_structures([substructure(whole, ball) for ball in balls.values()], graphs.schema)
        with torch.no_grad():
            kappa = model.classifier.correlation_probability(model.classifier.encode(small.batch()))[
                :, label == target[number]
            ]
            of_nodes = model.classifier.node_correlation(graphs.select([number]).batch())[:, label == target[number]]
        linked = dict(zip(balls, (1 - (1 - kappa).prod(-1)).tolist(), strict=True))
        state = (1 - (1 - of_nodes).prod(-1)).tolist()
        for node in graph:
            holding = [(1 / len(ball), linked[centre]) for centre, ball in balls.items() if node in ball]
            alone = sum(w * value for w, value in holding) / sum(w for w, _ in holding)
            expected.append((alone + state[node]) / 2)
    assert torch.allclose(found, torch.tensor(expected), atol=1e-4)


def test_the_neighbourhoods_of_a_star_do_not_all_hold_the_whole_star() -> None:
    leaves = 500
    graphs = from_networkx([nx.star_graph(leaves)], [0])
    small, _, _ = neighbourhoods(graphs.batch(), graphs.schema)
    assert small.sizes.tolist() == [leaves + 1] + [2] * leaves


def test_graphs_of_one_sort_are_found_in_any_order_of_their_nodes_and_no_others() -> None:
    """Paths, cycles and stars of five and six nodes, each thrice with shuffled nodes: six sorts, the first of each."""
    drawn = [make(n) for make in (nx.path_graph, nx.cycle_graph, lambda n: nx.star_graph(n - 1)) for n in (5, 6)]
    shuffled = [nx.relabel_nodes(g, dict(zip(g, [*g][k:] + [*g][:k], strict=True))) for g in drawn for k in (0, 2, 3)]
    batch = from_networkx(shuffled, [0] * len(shuffled)).batch()
    first, same = distinct(batch)
    assert sorted(first.tolist()) == [0, 3, 6, 9, 12, 15]
    assert first[same].tolist() == [k - k % 3 for k in range(18)]
    other_types = replace(batch, x=torch.arange(len(batch.x)).unsqueeze(1))
    assert len(distinct(other_types)[0]) == 18


def test_a_graph_that_nothing_reaches_leans_on_nothing() -> None:
    alone = Rationales(torch.zeros(1, 2), torch.zeros(1))
    assert alone.leans_on(0.99) == "mostly follows the label mix: most draws link no rationale"
    assert alone.leans_on(0.2) is None
    assert replace(alone, falls_back=False).leans_on(0.99) is None


def test_a_method_says_whether_the_label_mix_answers_where_no_rationale_is_linked() -> None:
    schema = Schema(("no", "yes"), node_sizes=(3,))
    assert make_classifier("graphfnp", schema).rationales().falls_back
    assert not make_classifier("graphfnp-forest", schema).rationales().falls_back
    assert not make_classifier("paper", schema).rationales().falls_back
    assert not make_classifier("graphfnp", schema, {"ablation": "C"}).rationales().falls_back
