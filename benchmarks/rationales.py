"""Are the rationales of trained runs what they should be? Motifs, molecules, alerts, and edges of known reasons.

    python benchmarks/rationales.py NAME RUN [RUN ...]      runs of one dataset, with different seeds

writes ``results/rationales/NAME.json`` with the targets, the rationales and the commands that made them.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import networkx as nx
import torch

from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.fragments import as_networkx
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.candidates import drawn_candidates
from graphfnp.decoding.config import decoding_for
from graphfnp.decoding.coverage import data_evidence
from graphfnp.decoding.explanation import explain_by_rationales
from graphfnp.decoding.find import find_rationales
from graphfnp.decoding.records import rationale_records
from graphfnp.graphs import PackedGraphs
from graphfnp.metrics.explanation import edge_roc_auc
from graphfnp.prediction import TrainedModel
from graphfnp.rationales import Rationales
from graphfnp.run import Run

RESULTS = Path(__file__).parent.parent / "results" / "rationales"
GROUPS = ("[NX3+](=O)[O-]", "[NX3;H2]")  # NO2 and NH2
KEPT = ("rationale", "label", "num_nodes", "valid", "smiles", "smarts", "motif", "alerts", "source",
        "class_probability", "similarity", "coverage", "precision", "stability", "sentence")  # fmt: skip


def judge(run: Run, others: list[Rationales]) -> tuple[dict[str, Any], Rationales]:
    model, dataset = run.model, run.dataset()
    found = find_rationales(model, seed=run.plan.seed, graphs=dataset.train)
    assert found is not None
    records = rationale_records(
        found, dataset.graphs.schema, data_evidence(model, found, dataset.train, dataset.test), others
    )
    result: dict[str, Any] = {"seed": run.plan.seed, "trained_with": run.plan.command}
    if dataset.graphs.schema.kind == "molecule":
        result |= chemistry(model, dataset, found, records)
    if dataset.name.startswith("ba2motifs"):
        motifs = (nx.Graph(CYCLE), nx.Graph(HOUSE))
        right = [
            structure is not None and nx.is_isomorphic(as_networkx(structure), motifs[label])
            for structure, label in zip(found.structures, found.label.tolist(), strict=True)
        ]
        result["right_motif"] = sum(right)
    if dataset.graphs.edge_truth is not None:
        result["edge_roc_auc"] = explanations(model, dataset, found)
    result["rationales"] = [{key: record.get(key) for key in KEPT} for record in records]
    return result, found


def chemistry(model: TrainedModel, dataset: Dataset, found: Rationales, records: list[dict]) -> dict[str, Any]:
    """Of everything the decoder draws, and of the chosen rationales."""
    from rdkit import Chem

    schema = dataset.graphs.schema
    drawn = drawn_candidates(model, found, decoding_for(schema), torch.Generator().manual_seed(0)).structures
    molecules = [structure_to_mol(structure, schema) for structure in drawn]
    groups = [Chem.MolFromSmarts(smarts) for smarts in GROUPS]
    shown = [structure_to_mol(structure, schema) for structure in found.structures if structure is not None]
    has_group = [m is not None and any(m.HasSubstructMatch(group) for group in groups) for m in shown]
    names = schema.class_names
    return {
        "drawn_molecules": len(drawn),
        "drawn_that_sanitise": sum(molecule is not None for molecule in molecules),
        "valid_rationales": sum(record["valid"] for record in records),
        "with_alert": {n: sum(bool(r["alerts"]) for r in records if r["label"] == n) for n in names},
        "with_NO2_or_NH2": {
            n: sum(has for has, r in zip(has_group, records, strict=True) if r["label"] == n) for n in names
        },
    }


def explanations(model: TrainedModel, dataset: Dataset, found: Rationales) -> dict[str, Any]:
    """Edge ROC-AUC on the test part, and on all graphs of the first class that hold a true edge (molecules)."""
    groups: dict[str, PackedGraphs] = {"test graphs": dataset.test}
    if dataset.graphs.schema.kind == "molecule":
        groups = {
            "test mutagens with NH2 or NO2": with_reason(dataset.test),
            "all mutagens with NH2 or NO2": with_reason(dataset.graphs),
        }
    result = {}
    for name, graphs in groups.items():
        explained = explain_by_rationales(model, found, graphs, train=dataset.train)
        assert graphs.edge_truth is not None
        result[name] = {
            "graphs": len(graphs),
            **{
                way: round(edge_roc_auc(score, graphs.edge_truth), 4)
                for way, score in (
                    ("all", explained.edge_score),
                    ("match", explained.matched),
                    ("prediction", explained.prediction_loss),
                    ("kernel", explained.kernel_loss),
                )
            },
        }
    return result


def with_reason(graphs: PackedGraphs) -> PackedGraphs:
    owner = torch.repeat_interleave(torch.arange(len(graphs)), graphs.edge_ptr.diff())
    has = torch.zeros(len(graphs), dtype=torch.bool)
    has[owner[graphs.edge_truth]] = True
    return graphs.select(torch.where(has & (graphs.y == 0))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("runs", type=Path, nargs="+")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    judged: list[dict[str, Any]] = []
    others: list[Rationales] = []
    for folder in chosen.runs:
        result, found = judge(Run(folder), others)
        judged.append(result)
        others.append(found)
        print(json.dumps({key: value for key, value in result.items() if key != "rationales"}, indent=1), flush=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    command = f"python benchmarks/rationales.py {chosen.name} RUN" + " [RUN ...]" * (len(judged) > 1)
    content = {"name": chosen.name, "command": command, "runs": judged}
    (RESULTS / f"{chosen.name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
