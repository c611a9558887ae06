"""Explanations on several cores are those of one."""

import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.explain import explain
from graphfnp.explainers.explanations import explanation_subgraphs
from graphfnp.explainers.parallel import BLOCK, explain_in_parallel
from graphfnp.explainers.subgraphx import SubgraphX, SubgraphXConfig
from graphfnp.methods.registry import make_classifier
from tiny_graphs import TYPED, shapes, small

QUICK = SubgraphX(SubgraphXConfig(rollouts=2, samples=8, min_nodes=2), seed=1)


def test_two_processes_explain_as_one_does() -> None:
    model, graphs = make_classifier("vanilla", TYPED, small("vanilla")), shapes(BLOCK + 3)
    done: list[int] = []
    one = explain_in_parallel(model, graphs, QUICK, processes=1, scored="nodes")
    two = explain_in_parallel(model, graphs, QUICK, processes=2, watch=done.append, scored="nodes", target=one.target)
    assert done == [BLOCK, 3]
    assert torch.equal(one.node_mask, two.node_mask)
    assert torch.equal(one.edge_mask, two.edge_mask)
    assert torch.equal(one.target, two.target)


@pytest.mark.parametrize("name", ["subgraphx", "gstarx"])
def test_explainers_by_name_keep_only_nodes_they_chose(name: str) -> None:
    torch.manual_seed(0)
    model, graphs = make_classifier("vanilla", TYPED, small("vanilla")), shapes(3, least=11)
    found = explain(model, graphs, name)
    assert found.scored == "nodes"
    parts = explanation_subgraphs(graphs, found)
    owner = torch.repeat_interleave(torch.arange(3), graphs.node_ptr.diff())
    assert parts.node_ptr.diff().tolist() == torch.bincount(owner[found.node_mask > 0], minlength=3).tolist()


def test_what_must_learn_first_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="yet to learn"):
        explain_in_parallel(make_classifier("vanilla", TYPED, small("vanilla")), shapes(2), "pg-explainer")
