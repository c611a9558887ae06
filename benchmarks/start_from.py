"""What a start from another model is worth with 100 molecules: python benchmarks/start_from.py [--develop]

Source: a GCN of the usual settings, trained for mutagenicity on the molecules of Mutagenicity that are in no target.
Targets: 100 random molecules (80 to learn from, 20 to calibrate on) of MUTAG, a related question, or of BBBP, another
one; measured on up to 1000 others. Frozen layers are chosen by --develop on draws 100 to 102; results are of others.
"""

import argparse
import json
from functools import cache
from pathlib import Path

import torch
from rdkit import Chem, rdBase

import graphfnp
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.randomness import stream
from graphfnp.training.config import enough_epochs
from graphfnp.training.start import start_from

RESULTS = Path(__file__).parent / "results" / "start_from.json"
SETTINGS = {"backbone.width": 128, "decoder.width": 64}
LEARN, CALIBRATE, MEASURED = 80, 20, 1000
TARGETS = ("mutag", "bbbp")
RECIPES = {"alone": None, "from": 0, "from, 2 frozen": 2, "from, 3 frozen": 3}  # frozen layers
CHOSEN = "from, 2 frozen"


def canonical(smiles: str) -> str:
    return Chem.MolToSmiles(Chem.MolFromSmiles(smiles))


@cache
def as_smiles(name: str) -> graphfnp.PackedGraphs:
    """The molecules with atom features, also of sets that come as graphs."""
    graphs = graphfnp.load(name).graphs
    if graphs.text is None:
        names = [kind_of(graphs.schema).names(one).get("smiles") or "" for one in structures_from_graphs(graphs)]
        graphs = graphs_from_smiles(names, graphs.y, molecule_schema(graphs.schema.class_names)).graphs or graphs
    return graphs


def source_model(folder: Path) -> graphfnp.TrainedModel:
    """Kept in a folder; no molecule of a target is among what it learned from."""
    if (folder / "model.json").is_file():
        return graphfnp.load_model(folder)
    graphs, known = (
        as_smiles("mutagenicity"),
        {canonical(one) for name in TARGETS for one in as_smiles(name).text or ()},
    )
    kept = [g for g, one in enumerate(graphs.text or ()) if canonical(one) not in known]
    data = graphfnp.load(graphs.select(kept), split="random")
    classifier = graphfnp.make_classifier("graphfnp", data.graphs.schema, SETTINGS)
    model = graphfnp.train(classifier, data.train, data.validation).model
    measured = graphfnp.evaluate(model, data.test)[0]["auroc"]
    print(f"source: {len(kept)} of {len(graphs)} molecules, AUROC {measured:.3f}", flush=True)
    model.save(folder)
    return model


def measured(name: str, model: graphfnp.TrainedModel, freeze: int | None, draw: int) -> dict[str, float]:
    graphs = as_smiles(name)
    order = torch.randperm(len(graphs), generator=stream(draw, "start from", 0))
    learn, calibrate, rest = order.split([LEARN, CALIBRATE, len(graphs) - LEARN - CALIBRATE])
    classifier = graphfnp.make_classifier("graphfnp", graphs.schema, SETTINGS, draw)
    if freeze is not None:
        start_from(classifier, model, freeze)
    config = graphfnp.TrainingConfig(epochs=enough_epochs(LEARN), finishing_epochs=0)
    trained = graphfnp.train(classifier, graphs.select(learn), graphs.select(calibrate), config, draw).model
    metrics, _ = graphfnp.evaluate(trained, graphs.select(rest[:MEASURED]))
    return {measure: metrics[measure] for measure in ("auroc", "nll", "ece")}


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    return {measure: sum(run[measure] for run in runs) / len(runs) for measure in runs[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--develop", action="store_true")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("runs/start-from"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    with rdBase.BlockLogs():
        model = source_model(asked.work)
    draws = range(100, 103) if asked.develop else range(asked.draws)
    recipes = RECIPES if asked.develop else {name: RECIPES[name] for name in ("alone", CHOSEN)}
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for target in asked.targets.split(","):
        for draw in draws:
            for name, freeze in recipes.items():
                run = measured(target, model, freeze, draw)
                found.setdefault(target, {}).setdefault(name, []).append(run)
                print(target, draw, name, {k: round(v, 3) for k, v in run.items()}, flush=True)
    written = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for target, runs in found.items():
        part = written.setdefault("development" if asked.develop else "results", {})
        means = {name: summary(some) for name, some in runs.items()}
        part[target] = {"draws": list(draws), "mean": means, "runs": runs}
        print(target, json.dumps(means, indent=1))
    RESULTS.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
