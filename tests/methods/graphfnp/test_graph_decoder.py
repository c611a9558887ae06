"""The decoder's vectorised likelihood against its plain definition, and as a probability."""

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema
from graphfnp.methods.graphfnp.decoder.breadth_first import breadth_first_order, decisions_in_order
from graphfnp.methods.graphfnp.decoder.graph_decoder import GraphDecoder, GraphDecoderConfig

PLAIN_FILE = Path(__file__).parents[3] / "benchmarks" / "decoder_likelihood.py"
FORMS = ("causal", "prefix")


def plain_definition() -> Any:
    spec = importlib.util.spec_from_file_location("decoder_likelihood", PLAIN_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stepwise_log_likelihood


def typed_graphs(continuous: bool) -> PackedGraphs:
    """A one-node graph, a triangle with a tail, two components, and no edges at all; three node and two edge types."""
    shapes: list[tuple[int, list[tuple[int, int, int]]]] = [
        (1, []),
        (4, [(0, 1, 0), (1, 2, 1), (0, 2, 0), (2, 3, 1)]),
        (6, [(0, 1, 1), (1, 2, 0), (3, 4, 0), (4, 5, 1), (3, 5, 0)]),
        (3, []),
        (2, [(0, 1, 1)]),
    ]
    schema = Schema(
        class_names=("a", "b"),
        node_sizes=() if continuous else (3,),
        node_width=5 if continuous else 0,
        edge_sizes=(2,),
        node_types=("C", "N", "O"),
        edge_types=("single", "double"),
    )
    generator = torch.Generator().manual_seed(0)
    edges = [[(a, b, k) for i, j, k in shape for a, b in ((i, j), (j, i))] for _, shape in shapes]
    flat = torch.tensor(list(itertools.chain(*edges)))
    sizes = torch.tensor([size for size, _ in shapes])
    types = torch.randint(3, (int(sizes.sum()),), generator=generator)
    return PackedGraphs.build(
        x=torch.randn(len(types), 5, generator=generator) if continuous else types[:, None],
        edge_index=flat[:, :2].T,
        node_ptr=torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)]),
        edge_ptr=torch.tensor([0, *(len(e) for e in edges)]).cumsum(0),
        y=torch.zeros(len(sizes), dtype=torch.long),
        schema=schema,
        edge_attr=flat[:, 2:],
        node_type=types,
    )


def decoder_for(schema: Schema, dims: int = 7, **config: Any) -> GraphDecoder:
    torch.manual_seed(0)
    return GraphDecoder(schema, dims, GraphDecoderConfig(**{"width": 16, "layers": 2, **config}))


def both_likelihoods(graphs: PackedGraphs, batch: Batch, **config: Any) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    decoder = decoder_for(graphs.schema, **config)
    order, z = breadth_first_order(batch, generator), torch.randn(batch.num_graphs, 7, generator=generator)
    return decoder.log_likelihood(decisions_in_order(batch, order), z), plain_definition()(decoder, batch, order, z)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size_condition", [True, False])
@pytest.mark.parametrize("continuous", [False, True])
def test_one_pass_equals_the_plain_definition(form: str, size_condition: bool, continuous: bool) -> None:
    graphs = typed_graphs(continuous)
    fast, plain = both_likelihoods(graphs, graphs.batch(), form=form, size_condition=size_condition, max_nodes=4)
    assert torch.allclose(fast, plain, atol=1e-4, rtol=0)


@pytest.mark.parametrize("form", FORMS)
def test_one_pass_equals_the_plain_definition_on_ba2motifs(form: str) -> None:
    graphs = generate_ba2motifs(4)
    fast, plain = both_likelihoods(graphs, graphs.batch(), form=form)
    assert torch.allclose(fast, plain, atol=1e-4, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_has_the_same_likelihood_in_any_company(form: str) -> None:
    graphs = generate_ba2motifs(300)
    decoder = decoder_for(graphs.schema, form=form)
    z = torch.randn(len(graphs), 7, generator=torch.Generator().manual_seed(0))
    batch, alone = graphs.batch(), graphs.batch([299])
    order = breadth_first_order(batch, torch.Generator().manual_seed(0))
    together = decoder.log_likelihood(decisions_in_order(batch, order), z)[-1]
    single = decoder.log_likelihood(decisions_in_order(alone, order[-25:] - int(batch.ptr[-2])), z[-1:])[0]
    assert together.item() == pytest.approx(single.item(), abs=1e-4)


def every_graph(size: int, kinds: int) -> PackedGraphs:
    """All node types and edge classes on nodes in a fixed order: each a possible sequence of decisions or none."""
    pairs = list(itertools.combinations(range(size), 2))
    chosen = []
    for classes in itertools.product(range(2), repeat=len(pairs)):
        edges = [pair for pair, present in zip(pairs, classes, strict=True) if present]
        parent = [min([a for a, b in edges if b == t], default=t) for t in range(size)]
        if parent == sorted(parent):  # otherwise not in breadth-first order
            chosen += [(types, edges) for types in itertools.product(range(kinds), repeat=size)]
    both = [torch.tensor(edges + [(b, a) for a, b in edges], dtype=torch.long).reshape(-1, 2).T for _, edges in chosen]
    types = torch.tensor([kind for types, _ in chosen for kind in types])
    return PackedGraphs.build(
        x=types[:, None],
        edge_index=torch.cat(both, 1),
        node_ptr=torch.arange(len(chosen) + 1) * size,
        edge_ptr=torch.tensor([0, *(e.shape[1] for e in both)]).cumsum(0),
        y=torch.zeros(len(chosen), dtype=torch.long),
        schema=Schema(class_names=("a", "b"), node_sizes=(kinds,), node_types=("C", "N", "O")[:kinds]),
        node_type=types,
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 3, 4])
def test_probabilities_of_all_graphs_of_a_size_sum_to_one(form: str, size: int) -> None:
    graphs = every_graph(size, kinds=2)
    decoder = decoder_for(graphs.schema, form=form)
    z = torch.randn(1, 7, generator=torch.Generator().manual_seed(0)).expand(len(graphs), 7)
    values = decoder.log_likelihood(decisions_in_order(graphs.batch(), torch.arange(len(graphs.x))), z)
    assert values.logsumexp(0).item() == pytest.approx(0, abs=1e-4)


def test_without_size_the_stop_decision_takes_part() -> None:
    sized, free = (decoder_for(every_graph(1, 2).schema, size_condition=s) for s in (True, False))
    one = decisions_in_order(every_graph(1, 2).batch(), torch.arange(2))
    z = torch.zeros(2, 7)
    assert sized.log_likelihood(one, z).exp().sum().item() == pytest.approx(1, abs=1e-5)
    assert free.log_likelihood(one, z).exp().sum().item() < 1  # the rest belongs to other sizes


def test_unknown_form_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(InvalidConfig, match="causal"):
        GraphDecoderConfig(form="backwards")  # type: ignore[arg-type]
