"""Molecules featurised per second, beside ``torch_geometric.utils.from_smiles``: ``python benchmarks/featurising.py``.

Both featurise the same SMILES in turns, so that a busy machine slows both down; the ratio is the median over rounds.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from rdkit import rdBase
from torch_geometric.utils import from_smiles

from graphfnp.datasets.smiles import graphs_from_smiles, read_molecule

BUILT_IN = [
    "CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O", "CN1CCC[C@H]1c1cccnc1",
    "C[C@]12CC[C@H]3[C@H]([C@@H]1CC[C@@H]2O)CCC4=CC(=O)CC[C@]34C", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O", "COc1ccc2[nH]cc(CCNC(C)=O)c2c1", "NCCc1ccc(O)c(O)c1",
]  # fmt: skip


def some_smiles() -> tuple[str, list[str]]:
    path = Path(os.environ.get("GRAPHFNP_DATA", "")) / "BBBP" / "BBBP.csv"
    if path.is_file():
        smiles = pd.read_csv(path)["smiles"].tolist()
        with rdBase.BlockLogs():
            return "BBBP", [one for one in smiles if not isinstance(read_molecule(one), str)]
    return "built-in molecules", BUILT_IN * 200


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=0, help="also time this many processes, on a longer list")
    options = parser.parse_args()
    name, smiles = some_smiles()
    rounds = [
        (seconds(lambda: [from_smiles(one) for one in smiles]), seconds(lambda: graphs_from_smiles(smiles)))
        for _ in range(options.rounds)
    ]
    ratio = statistics.median(theirs / ours for theirs, ours in rounds)
    print(f"{len(smiles)} molecules ({name}), one process, best of {options.rounds}:")
    print(f"  torch_geometric.utils.from_smiles  {len(smiles) / min(theirs for theirs, _ in rounds):7.0f} molecules/s")
    print(f"  graphs_from_smiles                 {len(smiles) / min(ours for _, ours in rounds):7.0f} molecules/s")
    print(f"  ratio, median of rounds            {ratio:7.1f}")
    if options.processes:
        many = smiles * 20
        took = seconds(lambda: graphs_from_smiles(many, processes=options.processes))
        rate = len(many) / took
        print(f"  {options.processes} processes, {len(many)} molecules, start-up included: {rate:.0f} molecules/s")


if __name__ == "__main__":
    main()
