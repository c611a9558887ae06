"""Peak memory of one epoch over all of Graph-SST2: ``python benchmarks/sst2_memory.py [--train]``.

Reads every batch of the training part, and with --train takes the steps of a small network on them. The first run
encodes 70042 sentences (about ten minutes on one core); later runs map the cached vectors.
"""

import argparse
import resource
import sys
import time

import torch

from graphfnp.datasets.load import load
from graphfnp.graphs.packed import Batch

LIMIT = 4 * 2**30


def peak() -> int:
    """Largest resident size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class TwoLayers(torch.nn.Module):
    """Mean of neighbours twice, mean over nodes, two classes: enough to have gradients and optimiser states."""

    def __init__(self, width: int, hidden: int = 256) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, hidden), torch.nn.Linear(hidden, hidden)])
        self.head = torch.nn.Linear(hidden, 2)

    def forward(self, batch: Batch) -> torch.Tensor:
        x, (source, target) = batch.x, batch.edge_index
        for layer in self.layers:
            h = layer(x)
            x = torch.relu(h.index_add(0, target, h[source]))
        total = x.new_zeros(batch.num_graphs, x.shape[1]).index_add(0, batch.batch, x)
        return self.head(total / batch.sizes[:, None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, help="graphs in a batch")
    parser.add_argument("--train", action="store_true")
    options = parser.parse_args()
    print(f"imports: {peak() / 2**20:.0f} MiB")
    start = time.perf_counter()
    dataset = load("sst2")
    print(f"loaded {dataset}: {peak() / 2**20:.0f} MiB, {time.perf_counter() - start:.1f} s")
    train = dataset.train
    network = TwoLayers(train.schema.node_width)
    optimiser = torch.optim.Adam(network.parameters())
    start, nodes = time.perf_counter(), 0
    for batch in train.batches(options.size, torch.Generator().manual_seed(0)):
        nodes += batch.num_nodes
        if options.train:
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(batch), batch.y).backward()
            optimiser.step()
    what = "training" if options.train else "reading"
    print(f"one epoch of {what}, {len(train)} graphs, {nodes} nodes: {time.perf_counter() - start:.1f} s")
    print(f"peak memory {peak() / 2**30:.2f} GiB of {LIMIT / 2**30:.0f} GiB allowed")
    if peak() > LIMIT:
        sys.exit("more than allowed")


if __name__ == "__main__":
    main()
