"""Molecules featurised per second, beside ``torch_geometric.utils.from_smiles``.

``python benchmarks/featurising.py [--processes 2] [--json]``: both featurise the same SMILES in turns, so that a busy
machine slows both down; the ratio is of medians.
"""

import os
import time
from pathlib import Path

import pandas as pd
from rdkit import rdBase

from graphfnp.chemistry.read_smiles import read_molecule
from side_by_side import alternate, options, record, row

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


def main() -> None:
    parser = options(__doc__, rounds=5)
    parser.add_argument("--processes", type=int, default=0, help="also time this many processes, on a longer list")
    chosen = parser.parse_args()
    # Here, not above: worker processes import this file again, and need neither PyG nor torch.
    from torch_geometric.utils import from_smiles

    from graphfnp.chemistry.smiles import graphs_from_smiles

    name, smiles = some_smiles()
    timings = alternate(
        {"theirs": lambda: [from_smiles(one) for one in smiles], "ours": lambda: graphs_from_smiles(smiles)},
        chosen.rounds,
        clock=time.perf_counter,  # ours reads in a child
    )
    theirs, ours = timings["theirs"].median, timings["ours"].median
    print(f"{len(smiles)} molecules ({name}), one process, medians of {chosen.rounds} rounds:")
    print(f"  torch_geometric.utils.from_smiles  {len(smiles) / theirs:7.0f} molecules/s")
    print(f"  graphs_from_smiles                 {len(smiles) / ours:7.0f} molecules/s")
    print(f"  ratio                              {theirs / ours:7.1f}")
    ratios = {"from_smiles to graphs_from_smiles": theirs / ours}
    if chosen.processes:
        many = smiles * 20
        start = time.perf_counter()
        graphs_from_smiles(many, processes=chosen.processes)
        rate = len(many) / (time.perf_counter() - start)
        print(f"  {chosen.processes} processes, {len(many)} molecules, start-up included: {rate:.0f} molecules/s")
        ratios[f"from_smiles to graphs_from_smiles in {chosen.processes} processes"] = rate * theirs / len(smiles)
    if chosen.json:
        what, peer = f"SMILES of {name} to graphs", "torch_geometric.utils.from_smiles, one process"
        table = [row(what, one.rpartition(" to ")[2], peer, ratio, "times faster") for one, ratio in ratios.items()]
        record("featurising", ratios, table, rounds=chosen.rounds, molecules=name)


if __name__ == "__main__":
    main()
