"""Are the rationales of trained runs what they should be? Motifs, molecules, alerts, and edges of known reasons.

    python benchmarks/rationales.py NAME RUN [RUN ...]      runs of one dataset, with different seeds

writes ``results/rationales/NAME.json`` with the rationales, how far they are found again by the other runs, and the
commands that made them. Beside the usual way others are counted: from the decoder alone without training graphs in any
role, the same ranked with training graphs, and by beam search; and best of N draws is set against the beam.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import torch
from graphfnp.decoding.evidence import evidence
from rdkit import Chem

from graphfnp.datasets.attachments import fragment_of
from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.fragments import as_networkx
from graphfnp.datasets.structures import structure_to_mol
from graphfnp.decoding.candidates import drawn_candidates
from graphfnp.decoding.config import DecodingConfig, decoding_for
from graphfnp.decoding.coverage import alerts_of, data_evidence
from graphfnp.decoding.explanation import explain_by_rationales
from graphfnp.decoding.find import find_rationales
from graphfnp.decoding.records import rationale_records
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.metrics.explanation import edge_roc_auc
from graphfnp.prediction import TrainedModel
from graphfnp.rationales import Rationales
from graphfnp.run import Run

RESULTS = Path(__file__).parent.parent / "results" / "rationales"
GROUPS = ("[NX3+](=O)[O-]", "[NX3;H2]")  # NO2 and NH2
KEPT = ("rationale", "label", "num_nodes", "valid", "smiles", "fragment", "smarts", "motif", "words", "alerts",
        "source", "class_probability", "similarity", "coverage", "precision", "stability", "pattern", "pattern_test",
        "sentence")  # fmt: skip
WAYS = {
    "decoder alone, no training graphs": (0, False),
    "decoder, ranked with training graphs": (0, True),
    "beam of 8, ranked with training graphs": (8, True),
}


def judge(run: Run, with_beam: bool) -> tuple[dict[str, Any], Rationales]:
    """Everything but stability, which needs the other runs."""
    model, dataset = run.model, run.dataset()
    schema = dataset.graphs.schema
    started = time.process_time()
    found = find_rationales(model, seed=run.plan.seed, graphs=dataset.train)
    assert found is not None
    result: dict[str, Any] = {"seed": run.plan.seed, "trained_with": run.plan.command}
    result["processor_seconds"] = round(time.process_time() - started, 1)
    result |= counts(found, dataset)
    if schema.kind == "molecule":
        result |= sanitised(model, found, schema)
    result["other_ways"] = {}
    ways = {name: way for name, way in WAYS.items() if not schema.is_continuous and (with_beam or not way[0])}
    for name, (beam, with_data) in ways.items():
        started = time.process_time()
        config = replace(decoding_for(schema), training_graphs=0, beam=beam)
        other = find_rationales(model, config, run.plan.seed, dataset.train if with_data else None)
        assert other is not None
        seconds = round(time.process_time() - started, 1)
        result["other_ways"][name] = {**counts(other, dataset), "processor_seconds": seconds}
    if with_beam and not schema.is_continuous:
        result["best_of_n_and_beam"] = searches(model, found, decoding_for(schema))
    if dataset.graphs.edge_truth is not None:
        result["edge_roc_auc"] = explanations(model, dataset, found)
    return result, found


def counts(found: Rationales, dataset: Dataset) -> dict[str, Any]:
    """How many of the chosen structures are what they should be."""
    schema, names = dataset.graphs.schema, dataset.graphs.schema.class_names
    pairs = list(zip(found.structures, found.label.tolist(), strict=True))
    if schema.kind == "molecule":
        groups = [Chem.MolFromSmarts(smarts) for smarts in GROUPS]
        drawn = [(fragment_of(one, schema) if one else None, one, names[label]) for one, label in pairs]
        has = [(m is not None and any(m.HasSubstructMatch(g) for g in groups), name) for m, _, name in drawn]
        return {
            "valid": sum(m is not None for m, _, _ in drawn),
            "with_alert": {
                n: sum(bool(one and alerts_of(one, schema)) for _, one, k in drawn if k == n) for n in names
            },
            "with_NO2_or_NH2": {n: sum(held for held, k in has if k == n) for n in names},
        }
    if dataset.name.startswith("ba2motifs"):
        motifs = (nx.Graph(CYCLE), nx.Graph(HOUSE))
        graphs = [(as_networkx(one), motifs[label]) for one, label in pairs if one is not None]
        holds = (
            nx.algorithms.isomorphism.GraphMatcher(graph, motif).subgraph_is_isomorphic() for graph, motif in graphs
        )
        return {"right_motif": sum(nx.is_isomorphic(*both) for both in graphs), "holding_the_motif": sum(holds)}
    return {}


def sanitised(model: TrainedModel, found: Rationales, schema: Schema) -> dict[str, int]:
    """Of everything the decoder draws."""
    drawn = drawn_candidates(model, found, decoding_for(schema), torch.Generator().manual_seed(0)).structures
    molecules = [structure_to_mol(structure, schema) for structure in drawn]
    return {"drawn_molecules": len(drawn), "drawn_that_sanitise": sum(one is not None for one in molecules)}


def searches(model: TrainedModel, found: Rationales, config: DecodingConfig) -> dict[str, Any]:
    """Best of N draws against the beam, by the model's score and by log p(G | z, n) of the best candidate."""
    result = {}
    for name, beam in (("best of 120 draws", 0), ("beam of 8 for each size", 8)):
        started = time.process_time()
        candidates = drawn_candidates(model, found, replace(config, beam=beam), torch.Generator().manual_seed(0))
        seconds = time.process_time() - started
        owner = torch.tensor(candidates.owner)
        judged = evidence(model, candidates.structures, owner)
        best = {
            key: sum(float(value[owner == r].max()) for r in range(len(found))) / len(found)
            for key, value in (("best_score", judged.score(config)), ("best_log_likelihood", judged.log_likelihood))
        }
        distinct = len(candidates.distinct(model.classifier.schema).structures)
        result[name] = {
            "candidates": len(owner), "distinct": distinct, "processor_seconds": round(seconds, 2),
            **{key: round(value, 3) for key, value in best.items()},
        }  # fmt: skip
    return result


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
        scores = {
            "all": explained.edge_score,
            "match": explained.matched,
            "prediction": explained.prediction_loss,
            "kernel": explained.kernel_loss,
        }
        truth = graphs.edge_truth
        result[name] = {"graphs": len(graphs), **{way: round(edge_roc_auc(s, truth), 4) for way, s in scores.items()}}
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
    parser.add_argument("--without-beam", action="store_true", help="leave out the beam search, for a busy machine")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    runs = [Run(folder) for folder in chosen.runs]
    judged = []
    for run in runs:
        judged.append(judge(run, not chosen.without_beam))
        print(json.dumps(judged[-1][0], indent=1), flush=True)
    for k, run in enumerate(runs):
        dataset, found = run.dataset(), judged[k][1]
        others = [other for j, (_, other) in enumerate(judged) if j != k]
        evidence_found = data_evidence(run.model, found, dataset.train, dataset.test)
        records = rationale_records(found, dataset.graphs.schema, evidence_found, others)
        stable = [record["stability"] for record in records if record["stability"] is not None]
        judged[k][0]["mean_stability"] = round(sum(stable) / len(stable), 3) if stable else None
        judged[k][0]["rationales"] = [{key: record.get(key) for key in KEPT} for record in records]
    RESULTS.mkdir(parents=True, exist_ok=True)
    command = f"python benchmarks/rationales.py {chosen.name} RUN" + " [RUN ...]" * (len(judged) > 1)
    content = {"name": chosen.name, "command": command, "runs": [result for result, _ in judged]}
    (RESULTS / f"{chosen.name}.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
