"""The model card: what a run's model was trained on, how it was measured, and where it should not be trusted."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphfnp.chemistry.smiles import reads_smiles
from graphfnp.datasets.catalogue import CATALOGUE
from graphfnp.errors import InvalidRun, listed, plural
from graphfnp.files import read_json
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.domain import EDGE, UNLIKE
from graphfnp.prediction.label_mix import assumed_mix
from graphfnp.runs.bundles import name_of
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, SPLIT, Run

CARD = "card.json"
MEASURES = (
    "accuracy", "accuracy_of_majority", "auroc", "ece", "ece_interval", "ece_floor", "ece_at_mix", "nll", "brier",
    "num_graphs",
)  # fmt: skip
NO_SPLIT: dict[str, Any] = {"how": "not known", "train": [], "validation": [], "test": []}  # of a model by itself
SOURCE = ("cite", "origin", "stand_in")


def model_card(run: Run) -> dict[str, Any]:
    """Everything a user should know before trusting a number of this model, ready for JSON."""
    try:
        return _card(run)
    except (TypeError, KeyError, AttributeError, ValueError) as error:  # files edited by hand
        raise InvalidRun(
            f"{run.folder}, whose {METRICS}, {SPLIT} or {CONFIG} is not as it was written ({error!r})",
            "the files that `graphfnp train` wrote",
            "restore them, or train again",
        ) from error


def _card(run: Run) -> dict[str, Any]:
    model, plan = run.model, run.plan
    schema, facts = model.classifier.schema, run.record.get("facts", {})
    split = read_json(run.folder / SPLIT) if (run.folder / SPLIT).is_file() else NO_SPLIT
    found = read_json(run.folder / METRICS) if (run.folder / METRICS).is_file() else {}
    metrics = found if _is_measured(model.calibration, found) else {}
    entry = CATALOGUE.get(plan.dataset)
    return {
        "name": name_of(run.folder),
        "id": model.id,
        "method": plan.method,
        "asks": None if entry is None else re.sub(r"\s*\(.*\)", "", entry.what).split(": ")[-1],
        "kind": schema.kind,
        "input": "SMILES" if reads_smiles(schema) else "graphs as JSON",
        "classes": list(schema.class_names),
        "data": {
            "dataset": plan.dataset,
            "split": split["how"],
            "parts": {part: len(split[part]) for part in ("train", "validation", "test")},
            "class_shares": found.get("label_shift", {}).get("shares"),
            **{name: facts[name] for name in facts if name in SOURCE or name.startswith("sha256")},
        },
        "measured_on": "test part" if split["test"] else "validation part",
        "measures": {name: _measure(name, metrics[name]) for name in MEASURES if name in metrics},
        "calibration": {
            **model.calibration.to_json(),
            "label_mix": assumed_mix(model),
            "provenance": None if model.provenance is None else model.provenance.to_json(),
        },
        "conformal": None
        if model.conformal is None
        else {"level": LEVEL, **metrics.get("conformal", {}), **model.conformal.facts()},
        "domain": None
        if model.domain is None
        else {"references": len(model.domain), "edge": EDGE, "unlike": UNLIKE, "test": metrics.get("domain")},
        "limits": list(_limits(run, metrics)),
        "made": {key: run.record[key] for key in ("command", "seed", "versions", "started") if key in run.record},
    }


def _measure(name: str, value: Any) -> Any:
    """The measure; TypeError if it is none."""
    for one in value if name == "ece_interval" and isinstance(value, list) else [value]:
        if one is not None and (isinstance(one, bool) or not isinstance(one, int | float)):
            raise TypeError(f"{name} is {value!r}")
    return value


def _is_measured(calibration: Calibration, metrics: Mapping[str, Any]) -> bool:
    """Are the measures those of this calibration? What was calibrated since is another model."""
    return "calibration" not in metrics or Calibration.from_json(metrics["calibration"]) == calibration


def _limits(run: Run, metrics: Mapping[str, Any]) -> Iterator[str]:
    model, plan = run.model, run.plan
    schema = model.classifier.schema
    yield (
        f"It was trained on {plan.dataset}, and predicts only its classes: {', '.join(schema.class_names)}. "
        "Use it to prioritise, not in place of a measurement."
    )
    if mix := assumed_mix(model):
        shares = ", ".join(f"{name} {share:.0%}" for name, share in zip(schema.class_names, mix, strict=True))
        yield f"Its probabilities assume these class frequencies among your inputs: {shares}."
    right = metrics.get("domain") or {}
    told = [f"{name} {facts['accuracy']:.0%} of {facts['graphs']}" for name, facts in right.items() if facts["graphs"]]
    if told:
        yield f"Accuracy on held-out graphs by domain verdict: {'; '.join(told)}."
    if model.conformal is not None:
        yield f"Guarantee of the {LEVEL:.0%} sets: {model.conformal.guarantee}. None for graphs of another kind."
    if reads_smiles(schema) and not schema.has_atom_features:
        yield (
            "Molecules are represented as in the training data: hydrogens are nodes, charges are left out, and ring "
            "double bonds are placed by RDKit, which affects the predictions a little."
        )
    if schema.descriptors:
        yield (
            f"Beside the structure it needs {listed(schema.descriptors, 20)}; a row without one of them fails. "
            "Structures of rationales are evaluated without them."
        )
    if model.classifier.rationale_model is not None:
        yield "Rationales are patterns that the model uses. They are not causes; some are weak: read their evidence."


# ---------------------------------------------------------------- as text


METRIC_TYPES = {"accuracy": "accuracy", "auroc": "roc_auc", "brier": "brier_score", "nll": "log_loss", "ece": "ece"}


def card_header(card: Mapping[str, Any]) -> str:
    """The YAML header of model cards, as model hubs read it; values are JSON, which YAML is."""
    data, kind = card["data"], {"type": "graph-ml", "name": "Graph classification"}
    metrics = [
        {"type": METRIC_TYPES[name], "name": name, "value": round(value, 6)}
        for name, value in card["measures"].items()
        if name in METRIC_TYPES and value is not None
    ]
    dataset = {"name": data["dataset"], "type": data["dataset"], "split": card["measured_on"]}
    fields = {
        "library_name": "graphfnp",
        "pipeline_tag": "graph-ml",
        "tags": ["graph-classification", card["kind"], card["method"], "uncertainty", "calibration", "explainability"],
        "datasets": [data["dataset"]],
        "metrics": [metric["type"] for metric in metrics],
        "model-index": [
            {"name": card["name"], "results": [{"task": kind, "dataset": dataset, "metrics": metrics}]},
        ],
    }
    return "\n".join(["---", *(f"{name}: {json.dumps(value)}" for name, value in fields.items()), "---", "", ""])


def card_text(card: Mapping[str, Any]) -> str:
    """The card as Markdown."""
    data, made = card["data"], card["made"]
    parts = ", ".join(f"{part} {count}" for part, count in data["parts"].items())
    lines = [f"# {card['name']}", ""]
    if card["asks"]:
        lines += [f"{card['kind'].capitalize()}s: {card['asks']}.", ""]
    lines += [
        f"* Model {card['id']}: {card['method']}; input {card['input']}; classes {', '.join(card['classes'])}.",
        f"* Data: {data['dataset']}, split {data['split']} ({parts}). {data.get('cite', '')}".rstrip(),
        "",
        *_measured(card),
        "",
        "Limits:",
        "",
        *(f"* {limit}" for limit in card["limits"]),
        "",
        f"Trained {made.get('started', '')} by `{made.get('command', '')}`.",
    ]
    return "\n".join(lines) + "\n"


def _measured(card: Mapping[str, Any]) -> list[str]:
    """A table of the measures; of a model that was calibrated since, what its calibration was measured to be."""
    if measures := card["measures"]:
        rows = [f"| {name} | {_shown(value)} |" for name, value in measures.items() if value is not None]
        return [f"Measured on the {card['measured_on']}:", "", "| measure | value |", "| --- | --- |", *rows]
    known = card["calibration"]["provenance"] or {}
    if known.get("ece") is None:
        return ["Not measured."]
    return [f"Calibration error (ECE) {_shown(known['ece'])} on {plural(known['graphs'], 'graph')}: {known['part']}."]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(_shown(one) for one in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)
