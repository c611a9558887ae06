"""One training epoch beside a plain PyG loop with a DataLoader: ``python benchmarks/epoch.py [DATASETS] [--json]``.

All train on the same graphs in batches of 64 and judge the validation part at the end of the epoch. They take turns,
and the ratio is of medians. GraphFNP's epoch holds both steps of EM; its decoder, which only rationales need, is a
row of its own.
"""

import os
from collections.abc import Callable
from pathlib import Path

import torch
from lightning_fabric import Fabric
from torch_geometric.loader import DataLoader

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import make_classifier
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import _Loop
from plain_pyg import PlainGCN, plain_data, train_epoch
from side_by_side import alternate, options, record, row

PEER = "plain PyG loop"
CONFIG = TrainingConfig(epochs=1)  # rationales from the first epoch on: later epochs, which are most, have them


def own_epoch(classifier: GraphClassifier, dataset: Dataset) -> Callable[[], None]:
    """An epoch of ``train``, whose loop is walked here step by step."""
    fabric = Fabric(accelerator="cpu", devices=1)
    loop = _Loop(classifier, dataset.train, dataset.validation, CONFIG, 0, None, lambda event: None, fabric)
    return loop.run_epoch


def plain_epoch(dataset: Dataset) -> Callable[[], float]:
    model = PlainGCN(dataset.graphs.schema)
    optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG.learning_rate)
    train = DataLoader(plain_data(dataset.train), batch_size=CONFIG.batch_size, shuffle=True)
    validation = DataLoader(plain_data(dataset.validation), batch_size=256)
    return lambda: train_epoch(model, optimizer, train, validation)


def compare(dataset: Dataset, rounds: int) -> dict[str, float]:
    schema = dataset.graphs.schema
    whole, bare = (make_classifier("graphfnp", schema) for _ in range(2))
    bare.decoder_loss = lambda encoded: {}  # type: ignore[assignment]
    timings = alternate(
        {
            PEER: plain_epoch(dataset),
            "Vanilla": own_epoch(make_classifier("vanilla", schema), dataset),
            "GraphFNP without decoder": own_epoch(bare, dataset),
            "GraphFNP with decoder": own_epoch(whole, dataset),
        },
        rounds,
    )
    unit = timings[PEER].median
    print(f"{dataset.name}: {len(dataset.train)} + {len(dataset.validation)} graphs, one thread, {rounds} rounds:")
    for name, timing in timings.items():
        print(f"  {name:24} {timing!s:34} ratio {timing.median / unit:.2f}")
    return {f"{name}, {dataset.name}": timing.median / unit for name, timing in timings.items() if name != PEER}


def main() -> None:
    parser = options(__doc__, rounds=7)
    bbbp = ["bbbp"] if (Path(os.environ.get("GRAPHFNP_DATA", "")) / "BBBP").is_dir() else []
    parser.add_argument("datasets", nargs="*", default=["ba2motifs", *bbbp])
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    ratios: dict[str, float] = {}
    for name in chosen.datasets:
        ratios |= compare(load(name), chosen.rounds)
    if chosen.json:
        aims = {"GraphFNP without decoder": "at most 1.0", "GraphFNP with decoder": "at most 1.5"}
        table = [
            row(f"an epoch: {name}", "train", PEER, ratio, aims.get(name.split(",")[0], ""))
            for name, ratio in ratios.items()
        ]
        record("epoch", ratios, table, rounds=chosen.rounds, threads=1)


if __name__ == "__main__":
    main()
