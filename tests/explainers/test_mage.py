"""MAGE: motifs of graphs, how they are scored for each class, and what is built of them."""

import networkx as nx
import pytest
import torch
from torch import Tensor

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.chemistry.structures import structure_to_smiles, structures_from_graphs
from graphfnp.explainers.mage import (
    LARGEST,
    Built,
    find_motifs,
    joined,
    mage_rationales,
    motif_nodes,
    motif_scores,
)
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.structure import as_networkx
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import Encoding, GraphClassifier, LossTerms
from graphfnp.networks.neighbourhood import mean_pool
from tiny_graphs import TYPED, plain

HOUSE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 4)]


def molecules(*smiles: str) -> PackedGraphs:
    graphs, _, problems = graphs_from_smiles(list(smiles))
    assert graphs is not None
    assert not problems
    return graphs


class SeesNitrogen(GraphClassifier[Encoding]):
    """Logit of class 1: 4 if there is nitrogen, else -4."""

    def encode(self, batch: Batch) -> Encoding:
        assert batch.node_type is not None
        is_nitrogen = torch.tensor([name.startswith("N") for name in self.schema.node_types])[batch.node_type]
        return Encoding(batch, mean_pool(torch.stack([is_nitrogen, ~is_nitrogen], 1).float(), batch))

    def draw_logits(self, encoded: Encoding, num_draws: int, seed: int = 0) -> Tensor:
        logit = torch.where(encoded.state[:, 0] > 0, 4.0, -4.0)
        return torch.stack([torch.zeros_like(logit), logit], -1).expand(num_draws, -1, -1)

    def loss(self, encoded: Encoding) -> LossTerms:
        return {}


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([*HOUSE, (2, 5), (5, 6)], [{0, 1, 2, 3, 4}, {5}, {6}]),  # cycles that share an edge stay together
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], [{0, 1, 2}, {3, 4, 5}]),
        ([(0, 1), (1, 2)], [{0}, {1}, {2}]),
    ],
)
def test_motifs_of_plain_graphs_are_cycles_and_single_nodes(edges, expected) -> None:
    found = motif_nodes(plain(*edges), kind_of(TYPED))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_short_cycles_are_taken_out_of_what_is_larger_than_a_motif() -> None:
    """A ladder of thirty squares, all of which share edges."""
    rungs = 31
    ladder = plain(
        *((2 * k, 2 * k + 1) for k in range(rungs)),
        *((k, k + 2) for k in range(2 * rungs - 2)),
    )
    found = motif_nodes(ladder, kind_of(TYPED))
    assert sorted(node for nodes in found for node in nodes) == list(range(2 * rungs))
    assert max(map(len, found)) <= 20
    assert sum(len(nodes) == 4 for nodes in found) >= 10


def test_motifs_of_molecules_are_ring_systems_and_groups_joined_as_seen() -> None:
    graphs = molecules("O=[N+]([O-])c1ccccc1", "Cc1ccccc1", "CC(=O)c1ccccc1")
    motifs = find_motifs(graphs)
    names = [structure_to_smiles(one, graphs.schema) for one in motifs.structures]
    assert sorted(names) == sorted(["c1ccccc1", "O=[NH+][O-]", "C", "C=O"])
    holds = [{names[m] for g, m in motifs.held.T.tolist() if g == graph} for graph in range(3)]
    assert holds == [{"c1ccccc1", "O=[NH+][O-]"}, {"c1ccccc1", "C"}, {"c1ccccc1", "C", "C=O"}]
    benzene = names.index("c1ccccc1")
    (at_ring,) = [ends for (motif, _), ends in motifs.junctions.items() if motif == benzene]
    assert {names[other] for _, (other, _) in at_ring} == {"O=[NH+][O-]", "C", "C=O"}


def test_joined_motifs_are_one_graph_with_one_edge_more() -> None:
    graphs = molecules("c1ccccc1", "CO")
    ring, chain = structures_from_graphs(graphs)
    both = joined(Built(ring, ((0, 7),) * 6), 3, 0, Built(chain, ((1, 8), (1, 9))), (1, 9))
    assert both.structure.num_nodes == 8
    assert set(both.structure.edges) - set(ring.edges) == {(6, 7, 0), (3, 7, 0)}
    assert both.sites[6:] == ((1, 8), (1, 9))


def test_a_motif_scores_for_the_class_of_the_graphs_that_go_by_it() -> None:
    graphs = molecules("c1ccccc1CN", "c1ccccc1CO", "c1ccccc1NN", "c1ccccc1CCO")
    motifs = find_motifs(graphs)
    score = motif_scores(SeesNitrogen(graphs.schema), graphs, motifs)
    number = {structure_to_smiles(one, graphs.schema): m for m, one in enumerate(motifs.structures)}
    assert ((score >= 0) & (score <= 1)).all()
    assert score[number["N"], 1] == score[:, 1].max()
    # Attention of a graph sums to one, so that all scores, each times its graphs, sum to the graphs that hold motifs.
    count = torch.bincount(motifs.held[1])
    assert float((score * count[:, None]).sum()) == pytest.approx(len(graphs), abs=1e-3)


def test_what_is_built_is_a_connected_molecule_that_the_model_gives_to_the_class() -> None:
    graphs = molecules("c1ccccc1CN", "c1ccccc1CO", "c1ccccc1NN", "NCCN", "OCCO", "C1CCNCC1", "C1CCOCC1", "NC(N)=O")
    found = mage_rationales(SeesNitrogen(graphs.schema), graphs, per_class=2)
    assert found.label.tolist() == [0, 0, 1, 1]
    assert found.class_probability is not None
    assert (found.class_probability > 0.9).all()
    for structure in found.structures:
        assert structure is not None
        assert structure_to_smiles(structure, graphs.schema)
        assert nx.is_connected(as_networkx(structure))
        assert structure.num_nodes <= LARGEST
