"""What must not change while code is moved: numbers of a few tiny models, records, keys and names.

``python tests/golden/freeze.py`` writes ``frozen.json`` anew, after a change that was meant to change a number.
"""

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import torch
import typer

HERE = Path(__file__).parent
FROZEN = HERE / "frozen.json"
sys.path.insert(0, str(HERE.parent))

from graphfnp.chemistry.smiles import graphs_from_smiles  # noqa: E402
from graphfnp.cli.app import app  # noqa: E402
from graphfnp.experiments.cell import Cell  # noqa: E402
from graphfnp.explainers.explain import explain  # noqa: E402
from graphfnp.explainers.explanations import explanation_records as mask_records  # noqa: E402
from graphfnp.graphs.packed import PackedGraphs  # noqa: E402
from graphfnp.methods.registry import CLASSIFIERS, make_classifier  # noqa: E402
from graphfnp.prediction.predict import predict  # noqa: E402
from graphfnp.prediction.records import prediction_records  # noqa: E402
from graphfnp.rationales.config import DecodingConfig  # noqa: E402
from graphfnp.rationales.explain import explain_by_rationales  # noqa: E402
from graphfnp.report.explanation_page import explanation_records  # noqa: E402
from graphfnp.runs.bundles import open_run  # noqa: E402
from graphfnp.runs.decoded import decoded_of_run  # noqa: E402
from graphfnp.runs.run import Plan, Run, execute  # noqa: E402
from graphfnp.service.config import ServiceConfig  # noqa: E402
from graphfnp.settings import names  # noqa: E402
from graphfnp.training.config import TrainingConfig  # noqa: E402
from graphfnp.training.train import train  # noqa: E402
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small  # noqa: E402

TRAINING = replace(TINY_TRAINING, epochs=20, learning_rate=0.01)  # long enough for links to rationales
MOLECULES = ["C" * n + end for n in range(1, 13) for end in ("O", "N")]
DRUGS = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "CC(C)NCC(O)COc1ccccc1CC=C"]
CELLS = (
    Cell("bbbp", "gcn", "graphfnp", 0),
    Cell("bbbp", "gat", "vanilla", 3, {"training.learning_rate": 5e-4, "backbone.dropout": 0.2}, {"limit": 10}),
    Cell("ba2motifs", "gin", "graphfnp", 1, explain={"explainer": "rationales", "measure": "masks", "limit": 100}),
    Cell("mutagenicity", "gin", "mc-dropout", 2, data={"split": "random"}),
)


def frozen() -> dict[str, Any]:
    """Everything that is compared, ready for JSON."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run = _molecule_run(Path(folder))
        content = {
            "probabilities": {method: _probabilities(method) for method in ("graphfnp", "vanilla", "swag")},
            "run folder": _run_folder(run.folder),
            "prediction records": _prediction_records(run, run.dataset().test),
            "rationale explanations": _rationale_explanations(run),
            "bundled model": _bundled(),
            "mask explanations": _mask_explanations(run),
            "run folder with rationales": sorted(path.name for path in run.folder.iterdir()),
            "cells": {str(cell): cell.key for cell in CELLS},
            "weights": {method: sorted(_new(method).state_dict()) for method in CLASSIFIERS},
            "settings": _settings(),
            "options": dict(_options(typer.main.get_command(app), "graphfnp")),
        }
    return json.loads(json.dumps(content))


def _new(method: str) -> Any:
    return make_classifier(method, TYPED, small(method))


def _probabilities(method: str) -> list[list[float]]:
    graphs = shapes(24)
    model = train(_new(method), graphs, graphs, TRAINING).model
    return predict(model, graphs, num_draws=8).probabilities[:6].tolist()


def _molecule_run(folder: Path) -> Run:
    """GraphFNP with graph convolutions, trained on two dozen alcohols and amines."""
    table = folder / "molecules.csv"
    lines = [f"{smiles},{'alcohol' if smiles[-1] == 'O' else 'amine'}" for smiles in MOLECULES]
    table.write_text("\n".join(["smiles,label", *lines, ""]))
    plan = Plan(str(table), overrides=small("graphfnp"), training=TRAINING, data_options={"split": "random"})
    return execute(plan, folder / "run")


def _bundled() -> dict[str, Any]:
    """Records of a model that ships with the package, whose rationales are linked to these molecules."""
    run = open_run("bbbp")
    graphs, *_ = graphs_from_smiles(DRUGS, schema=run.model.classifier.schema)
    rationales = decoded_of_run(run).rationales
    explanations = explain_by_rationales(run.model, rationales, graphs)
    return {
        "predictions": _prediction_records(run, graphs),
        "explanations": explanation_records(explanations, rationales),
    }


def _prediction_records(run: Run, graphs: PackedGraphs) -> list[dict[str, Any]]:
    records = prediction_records(run.model, predict(run.model, graphs), graphs, range(len(graphs)), [])
    return [{**record, "model": None, "calibration": sorted(record["calibration"])} for record in records]


def _rationale_explanations(run: Run) -> list[dict[str, Any]]:
    rationales = decoded_of_run(run, config=DecodingConfig(candidates=8, training_graphs=8)).rationales
    decoded_of_run(run)  # and what is usual is kept in the folder
    return explanation_records(explain_by_rationales(run.model, rationales, run.dataset().test), rationales)


def _mask_explanations(run: Run) -> list[dict[str, Any]]:
    graphs = run.dataset().test
    return mask_records(graphs, explain(run.model.classifier, graphs, "gnn-explainer"), list(range(len(graphs))))


def _run_folder(folder: Path) -> dict[str, list[str]]:
    """Its files, and the fields of those that are JSON."""
    return {
        path.name: sorted(json.loads(path.read_text())) if path.suffix == ".json" else []
        for path in sorted(folder.iterdir())
    }


def _settings() -> dict[str, list[str]]:
    methods = {f"method {name}": names(method.config) for name, method in CLASSIFIERS.items()}
    others = {"training": TrainingConfig(), "decoding": DecodingConfig(), "service": ServiceConfig()}
    return {**methods, **{name: names(config) for name, config in others.items()}}


def _options(command: Any, name: str):
    """Each command with the words it knows."""
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        for inner in command.commands.values():
            yield from _options(inner, f"{name} {inner.name}")
    else:
        yield (
            name,
            sorted(word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)),
        )


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(frozen(), indent=1) + "\n")
    print(f"wrote {FROZEN.relative_to(Path.cwd()) if FROZEN.is_relative_to(Path.cwd()) else FROZEN.name}")
