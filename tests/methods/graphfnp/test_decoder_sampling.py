"""Graphs drawn from the decoder: frequencies against likelihoods, constraints, what it gives back after training."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx as nx
import pytest
import torch

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.graphfnp.decoder.breadth_first import DecisionBatch, breadth_first_decisions, decisions_in_order
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder, GraphDecoderConfig
from graphfnp.methods.graphfnp.decoder.sampling import PartialGraphs, sample


def decisions_of(structures: Sequence[Structure]) -> DecisionBatch:
    """The decisions that drew these structures."""
    sizes = torch.tensor([structure.num_nodes for structure in structures])
    ptr = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    edges = torch.tensor(
        [
            (a + first, b + first, kind)
            for s, first in zip(structures, ptr.tolist(), strict=False)
            for a, b, kind in s.edges
        ],
        dtype=torch.long,
    ).reshape(-1, 3)
    node_type = torch.tensor([kind for structure in structures for kind in structure.node_type])
    features = [structure.x for structure in structures if structure.x is not None]
    batch = Batch(
        x=torch.cat(features) if features else node_type[:, None],
        edge_index=edges[:, :2].T,
        batch=torch.repeat_interleave(torch.arange(len(sizes)), sizes),
        ptr=ptr,
        y=torch.full_like(sizes, -1),
        edge_attr=edges[:, 2:],
        node_type=node_type,
        undirected=False,
    )
    return decisions_in_order(batch, torch.arange(len(node_type)))


TYPED = Schema(class_names=("a", "b"), node_sizes=(2,), node_types=("C", "N"), edge_types=("single", "double"))
FORMS = ("causal", "prefix")


def decoder_for(schema: Schema = TYPED, dims: int = 4, **config: Any) -> GraphDecoder:
    torch.manual_seed(0)
    return GraphDecoder(schema, dims, GraphDecoderConfig(**{"width": 16, "layers": 2, "max_nodes": 8, **config}))


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def as_networkx(structure: Structure) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(structure.num_nodes))
    graph.add_edges_from((a, b) for a, b, _ in structure.edges)
    return graph


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size_condition", [True, False])
def test_graphs_are_drawn_as_often_as_their_likelihood_says(form: str, size_condition: bool) -> None:
    schema = Schema(class_names=("a", "b"), node_sizes=(1,))
    decoder, draws = decoder_for(schema, form=form, size_condition=size_condition), 4000
    with torch.no_grad():
        for parameter in decoder.edge_head.parameters():
            parameter.mul_(2)  # away from the uniform distribution
    z = torch.randn(1, 4, generator=generator())
    sizes = torch.full((draws,), 4) if size_condition else None
    drawn = sample(decoder, z.expand(draws, 4), sizes, generator=generator(1), max_nodes=6)
    counts = Counter((s.num_nodes, s.edges) for s in drawn if s.num_nodes < 6)
    kinds = [Structure((0,) * size, edges) for size, edges in counts]
    likelihood = decoder.log_likelihood(decisions_of(kinds), z.expand(len(kinds), 4)).exp()
    frequency = torch.tensor([count / draws for count in counts.values()])
    error = (likelihood * (1 - likelihood) / draws).sqrt()
    assert ((frequency - likelihood).abs() < 4.5 * error + 1 / draws).all()
    assert len(kinds) > 10


def test_sizes_are_kept_and_connected_graphs_are_connected() -> None:
    sizes = torch.tensor([1, 2, 5, 8]).repeat(20)
    decoder, z = decoder_for(), torch.randn(80, 4, generator=generator())
    with torch.no_grad():
        decoder.edge_head.kind.bias[0] = 2  # edges are rare
    for connected in (True, False):
        drawn = sample(decoder, z, sizes, generator=generator(), connected=connected)
        assert [s.num_nodes for s in drawn] == sizes.tolist()
        assert all(0 <= a < b < s.num_nodes for s in drawn for a, b, _ in s.edges)
        assert all(nx.is_connected(as_networkx(s)) for s in drawn) == connected
        assert torch.isfinite(decoder.log_likelihood(decisions_of(drawn), z)).all()


def test_an_open_size_ends_at_the_stop_decision_or_at_the_limit() -> None:
    decoder = decoder_for(size_condition=False)
    z = torch.randn(200, 4, generator=generator())
    sizes = Counter(s.num_nodes for s in sample(decoder, z, generator=generator(), max_nodes=5))
    assert set(sizes) == {1, 2, 3, 4, 5}


def test_a_decoder_conditioned_on_size_asks_for_it() -> None:
    with pytest.raises(InvalidConfig, match="sizes"):
        sample(decoder_for(), torch.zeros(1, 4))


def test_temperature_zero_and_equal_generators_repeat_themselves() -> None:
    decoder, z, sizes = decoder_for(), torch.randn(1, 4, generator=generator()).expand(6, 4), torch.full((6,), 6)
    greedy = sample(decoder, z, sizes, temperature=0)
    assert len({(s.node_type, s.edges) for s in greedy}) == 1
    first, second = (sample(decoder, z, sizes, generator=generator(3)) for _ in range(2))
    assert [s.edges for s in first] == [s.edges for s in second]


def test_continuous_features_come_with_the_nodes() -> None:
    schema = Schema(class_names=("a", "b"), node_width=3)
    decoder = decoder_for(schema)
    with torch.no_grad():  # x ~ N((1, 2, 3), 0.1^2)
        assert decoder.node_head.features is not None
        decoder.node_head.features.weight.zero_()
        decoder.node_head.features.bias.copy_(torch.tensor([1.0, 2.0, 3.0, *[-4.605] * 3]))
    drawn = sample(decoder, torch.zeros(200, 4), torch.full((200,), 5), generator=generator())
    x = torch.cat([s.x for s in drawn if s.x is not None])
    assert x.shape == (1000, 3)
    assert torch.allclose(x.mean(0), torch.tensor([1.0, 2.0, 3.0]), atol=0.02)
    assert torch.allclose(x.std(0), torch.tensor(0.1), atol=0.01)


class AtMostTwoNeighbours:
    """Only nodes of type 1, and no node with three edges."""

    def node_types(self, partial: PartialGraphs) -> torch.Tensor:
        return torch.tensor([False, True]).expand(len(partial.size), 2)

    def edge_classes(self, partial: PartialGraphs, old: int) -> torch.Tensor:
        degree = (partial.edge_class > 0).sum(-1)
        room = (degree[:, old] < 2) & (degree[:, partial.step] < 2)
        return torch.stack([torch.ones_like(room), room, room], dim=1)


def test_rules_are_kept() -> None:
    decoder, z = decoder_for(), torch.randn(100, 4, generator=generator())
    sizes = torch.full((100,), 8)
    free = sample(decoder, z, sizes, generator=generator(), connected=True)
    ruled = sample(decoder, z, sizes, generator=generator(), connected=True, rules=AtMostTwoNeighbours())
    assert max(degree for s in free for _, degree in as_networkx(s).degree) > 2
    assert max(degree for s in ruled for _, degree in as_networkx(s).degree) == 2
    assert {kind for s in ruled for kind in s.node_type} == {1}


@pytest.mark.parametrize("form", FORMS)
def test_trained_on_cycles_and_stars_it_gives_each_back_for_its_embedding(form: str) -> None:
    star = Structure((1, 0, 0, 0, 0), tuple((0, i, 1) for i in range(1, 5)))
    cycle = Structure((0,) * 5, ((0, 1, 0), (0, 2, 0), (1, 3, 0), (2, 4, 0), (3, 4, 0)))
    z = torch.eye(4)[:2]
    decoder = decoder_for(width=32, form=form)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)
    decisions, values = decisions_of([star, cycle]), []
    for _ in range(60):
        loss = -decoder.log_likelihood(decisions, z).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(-loss.item())
    assert values[-1] > -0.5 > values[0]
    drawn = sample(decoder, z.repeat_interleave(20, 0), torch.full((40,), 5), generator=generator())
    assert sum((s.node_type, s.edges) == (star.node_type, star.edges) for s in drawn[:20]) >= 15
    assert sum((s.node_type, s.edges) == (cycle.node_type, cycle.edges) for s in drawn[20:]) >= 15


def test_training_on_ba2motifs_raises_the_likelihood_of_unseen_graphs() -> None:
    graphs, order = generate_ba2motifs(64), generator()
    decoder = decoder_for(graphs.schema, dims=1, width=32, max_nodes=25)
    optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)
    train, test = graphs.batch(range(0, 64, 2)), graphs.batch(range(1, 64, 2))

    def likelihood() -> float:
        with torch.no_grad():
            return (
                decoder.log_likelihood(breadth_first_decisions(test, generator(5)), test.y[:, None].float())
                .mean()
                .item()
            )

    before = likelihood()
    for _ in range(60):
        optimizer.zero_grad()
        (-decoder.log_likelihood(breadth_first_decisions(train, order), train.y[:, None].float()).mean()).backward()
        optimizer.step()
    assert likelihood() > before + 30  # from about -90 towards -32
