"""Batches of packed graphs beside those of PyG's DataLoader: ``python benchmarks/batching.py [dataset] [--json]``.

Both make the same shuffled batches in turns, so that a busy machine slows both down. Every batch is compared first, and
the ratio is of medians.
"""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from graphfnp.datasets.load import load
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.pyg import to_data_list
from side_by_side import alternate, options, record, row

FIELDS = ("x", "edge_index", "edge_attr", "batch", "ptr", "y")


def plain(graphs: PackedGraphs) -> list[Data]:
    """What PyG would be given: tensors only, with node features as PyG's networks want them."""
    for item in (data := to_data_list(graphs)):
        for name in {"schema", "text", "edge_truth"} & set(item.keys()):  # a Batch does not carry these
            del item[name]
        item.x = item.x.float() if graphs.schema.is_continuous else item.x.long()
    return data


def check(graphs: PackedGraphs, order: list[Tensor], loader: DataLoader) -> None:
    """Are both ways' batches equal, field by field?"""
    for index, theirs in zip(order, loader, strict=True):
        ours = graphs.batch(index)
        for name in FIELDS:
            value = getattr(ours, name)
            assert value is None or torch.equal(value, theirs[name]), name


def walk(batches: Iterable[object]) -> None:
    for _ in batches:
        pass


def main() -> None:
    parser = options(__doc__, rounds=5)
    parser.add_argument("dataset", nargs="?", default="ba2motifs")
    chosen = parser.parse_args()
    graphs = load(chosen.dataset).graphs
    data, ratios = plain(graphs), {}
    print(f"{chosen.dataset}: {len(graphs)} graphs, {torch.get_num_threads()} threads")
    for size in (64, 128, 256):
        order = graphs.batch_indices(size, torch.Generator().manual_seed(0))
        loader = DataLoader(data, batch_sampler=[index.tolist() for index in order])
        check(graphs, order, loader)

        def packed(size: int = size) -> None:
            walk(graphs.batches(size, torch.Generator().manual_seed(0)))

        timings = alternate({"theirs": lambda loader=loader: walk(loader), "ours": packed}, chosen.rounds)
        theirs, ours = timings["theirs"], timings["ours"]
        ratios[f"PyG DataLoader to packed, batch of {size}"] = theirs.median / ours.median
        print(f"batches of {size}: PyG {theirs}, packed {ours}, ratio {theirs.median / ours.median:.1f}, batches equal")
    if chosen.json:
        slowest = min(ratios, key=ratios.__getitem__)
        table = [row("batches of graphs", "PackedGraphs", "PyG's DataLoader", ratios[slowest], "times faster")]
        record("batching", ratios, table, rounds=chosen.rounds, dataset=chosen.dataset)


if __name__ == "__main__":
    main()
