"""Explanations on several cores: blocks of graphs go to processes of their own, each on one thread."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch
from torch import nn
from torch_geometric.explain.algorithm import ExplainerAlgorithm

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.explain import explain
from graphfnp.explainers.explanations import Explanations
from graphfnp.explainers.pg_explainer import PGExplainer
from graphfnp.graphs.packed import PackedGraphs

BLOCK = 8  # graphs of one piece of work

_model: nn.Module  # of a worker: it comes once, not with every block


def explain_in_parallel(
    model: nn.Module,
    graphs: PackedGraphs,
    explainer: str | ExplainerAlgorithm,
    processes: int | None = None,
    watch: Callable[[int], None] | None = None,
    **options: Any,
) -> Explanations:
    """:func:`explain`, in blocks shared out to ``processes`` (default: all cores); ``watch`` gets graphs newly done.

    The blocks are the same for any number of processes, and so are the explanations. New processes import the program
    that called: it needs ``if __name__ == "__main__":``.
    """
    if explainer == "pg-explainer" or (isinstance(explainer, PGExplainer) and explainer.steps == 0):
        raise InvalidConfig(
            "an explainer that has yet to learn", "one that takes each graph by itself", "use explain, or fit it first"
        )
    blocks = list(torch.arange(len(graphs)).split(BLOCK))
    work = [(graphs.select(block), explainer, _of_block(options, block)) for block in blocks]
    processes = min(processes or os.cpu_count() or 1, len(blocks))
    found = []
    if processes > 1:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(processes, context, _receive, (model,)) as pool:
            for explanations in pool.map(_explain_block, work):
                found.append(explanations)
                if watch is not None:
                    watch(len(explanations.target))
    else:
        for some, algorithm, own in work:
            found.append(explain(model, some, algorithm, watch=watch, **own))
    seconds = sum(part.seconds * len(part.target) for part in found) / max(len(graphs), 1)
    return Explanations(
        torch.cat([part.edge_mask for part in found]),
        torch.cat([part.node_mask for part in found]),
        torch.cat([part.target for part in found]),
        found[0].scored,
        seconds,
    )


def _of_block(options: dict[str, Any], block: torch.Tensor) -> dict[str, Any]:
    target = options.get("target")
    return options if target is None else options | {"target": target[block]}


def _receive(model: nn.Module) -> None:
    global _model
    torch.set_num_threads(1)
    _model = model


def _explain_block(work: tuple[PackedGraphs, str | ExplainerAlgorithm, dict[str, Any]]) -> Explanations:
    graphs, explainer, options = work
    return explain(_model, graphs, explainer, **options)
