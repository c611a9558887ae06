"""Fixtures and options all tests share."""

import os
from pathlib import Path

import pytest
import torch

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.runs.run import Plan, Run, execute
from tiny_graphs import TINY_TRAINING, small


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the long tests too")


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)  # tests run in parallel processes, and sums of floats should not depend on the machine


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="long: chosen with --slow"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("GRAPHFNP_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GRAPHFNP_DATA does not name a folder of datasets")
    return Path(folder)


@pytest.fixture(scope="session")
def motifs() -> PackedGraphs:
    """Forty graphs of BA2Motifs, half of each class."""
    return generate_ba2motifs(40, seed=1)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of a very small GraphFNP on BA2Motifs; tests must not write into it."""
    plan = Plan(
        "ba2motifs", overrides=small("graphfnp"), training=TINY_TRAINING, data_options={"split": "random", "limit": 40}
    )
    return execute(plan, tmp_path_factory.mktemp("runs") / "tiny")
