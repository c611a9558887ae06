"""Random connected subgraphs of batches."""

import networkx as nx
import torch

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.graphs.packed import Batch
from graphfnp.graphs.subgraphs import induced_subgraphs, random_connected_nodes


def cut(batch: Batch, sizes: list[int], seed: int = 0) -> Batch:
    return induced_subgraphs(
        batch, random_connected_nodes(batch, torch.tensor(sizes), torch.Generator().manual_seed(seed))
    )


def graph(batch: Batch, number: int) -> nx.Graph:
    first, end = batch.ptr[number].item(), batch.ptr[number + 1].item()
    result = nx.Graph()
    result.add_nodes_from(range(int(first), int(end)))
    result.add_edges_from((a, b) for a, b in batch.edge_index.T.tolist() if first <= a < end)
    return result


def test_subgraphs_are_connected_and_of_the_size_asked_for() -> None:
    batch = generate_ba2motifs(5).batch()
    part = cut(batch, [1, 6, 10, 25, 40])
    assert part.sizes.tolist() == [1, 6, 10, 25, 25]
    assert all(nx.is_connected(graph(part, number)) for number in range(5))
    assert torch.equal(part.batch, torch.repeat_interleave(torch.arange(5), part.sizes))
    assert graph(part, 4).number_of_edges() == graph(batch, 4).number_of_edges()


def test_all_edges_among_kept_nodes_stay_with_their_attributes() -> None:
    # A path 0-1-2-3 whose edge types tell the smaller end.
    edges = torch.tensor([[0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2]])
    batch = Batch(
        x=torch.arange(4)[:, None],
        edge_index=edges,
        batch=torch.zeros(4, dtype=torch.long),
        ptr=torch.tensor([0, 4]),
        y=torch.zeros(1, dtype=torch.long),
        edge_attr=edges.amin(0)[:, None],
        node_type=torch.arange(4) * 10,
    )
    part = induced_subgraphs(batch, torch.tensor([1, 2]))
    assert part.x.flatten().tolist() == [1, 2]
    assert part.node_type is not None
    assert part.node_type.tolist() == [10, 20]
    assert part.edge_attr is not None
    found = {(*e, k) for e, k in zip(part.edge_index.T.tolist(), part.edge_attr.flatten().tolist(), strict=True)}
    assert found == {(0, 1, 1), (1, 0, 1)}


def test_a_cut_stays_inside_one_component() -> None:
    # A triangle and an edge: five nodes, at most three together.
    edges = torch.tensor([[0, 1, 0, 2, 1, 2, 3, 4], [1, 0, 2, 0, 2, 1, 4, 3]])
    zeros = torch.zeros(5, dtype=torch.long)
    batch = Batch(zeros[:, None], edges, zeros, torch.tensor([0, 5]), zeros[:1])
    sizes = set()
    for seed in range(20):
        part = cut(batch, [4], seed)
        assert nx.is_connected(graph(part, 0))
        sizes.add(part.num_nodes)
    assert sizes == {2, 3}
    assert cut(batch, [5]).num_nodes == 5  # nothing to cut


def test_every_connected_part_of_a_path_is_found() -> None:
    edges = torch.tensor([[0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2]])
    zeros = torch.zeros(4, dtype=torch.long)
    batch = Batch(zeros[:, None], edges, zeros, torch.tensor([0, 4]), zeros[:1])
    generator = torch.Generator().manual_seed(0)
    found = {tuple(random_connected_nodes(batch, torch.tensor([2]), generator).tolist()) for _ in range(60)}
    assert found == {(0, 1), (1, 2), (2, 3)}
