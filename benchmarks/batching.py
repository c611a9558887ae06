"""Batches of packed graphs beside those of PyG's DataLoader: ``python benchmarks/batching.py [dataset]``.

Both make the same shuffled batches in turns, so that a busy machine slows both down; every batch is compared, and the
ratio is the median over rounds.
"""

import argparse
import statistics
import time
from collections.abc import Iterable

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from graphfnp.datasets.load import load
from graphfnp.graphs import PackedGraphs
from graphfnp.pyg import to_data_list

FIELDS = ("x", "edge_index", "edge_attr", "batch", "ptr", "y")


def plain(graphs: PackedGraphs) -> list[Data]:
    """What PyG would be given: tensors only, with node features as PyG's networks want them."""
    for item in (data := to_data_list(graphs)):
        for name in {"schema", "text", "edge_truth"} & set(item.keys()):  # a Batch does not carry these
            del item[name]
        item.x = item.x.float() if graphs.schema.is_continuous else item.x.long()
    return data


def seconds(batches: Iterable[object]) -> float:
    start = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="ba2motifs")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    graphs = load(options.dataset).graphs
    data = plain(graphs)
    print(f"{options.dataset}: {len(graphs)} graphs, {torch.get_num_threads()} threads")
    for size in (64, 128, 256):
        times = []
        for seed in range(options.rounds):
            order = graphs.batch_indices(size, torch.Generator().manual_seed(seed))
            loader = DataLoader(data, batch_sampler=[index.tolist() for index in order])
            for index, theirs in zip(order, loader, strict=True):
                ours = graphs.batch(index)
                for name in FIELDS:
                    value = getattr(ours, name)
                    assert value is None or torch.equal(value, theirs[name]), name
            generator = torch.Generator().manual_seed(seed)
            times.append((seconds(loader), seconds(graphs.batches(size, generator)), len(order)))
        ratio = statistics.median(theirs / ours for theirs, ours, _ in times)
        theirs, ours = (statistics.median(1000 * time[k] / time[2] for time in times) for k in (0, 1))
        print(f"batch of {size}: PyG {theirs:.2f} ms, packed {ours:.2f} ms, ratio {ratio:.1f}, batches equal")


if __name__ == "__main__":
    main()
