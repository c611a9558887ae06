"""How kernels rank structures, and what pruning keeps."""

import networkx as nx
import torch

from graphfnp.datasets.ba2motifs import CYCLE
from graphfnp.graphs.structure import as_networkx
from graphfnp.methods.rationales import Rationales
from graphfnp.rationales.config import DecodingConfig
from graphfnp.rationales.kernels import specific_kernel
from graphfnp.rationales.pruning import pruned
from graphfnp.runs.run import Run
from tiny_graphs import plain


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
