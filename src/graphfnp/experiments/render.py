"""Tables as Markdown: our numbers beside the published ones, what is best, how sure that is, and what is missing."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import MORE_IS_BETTER, paired, summary
from graphfnp.experiments.tables import Group, Table

# Our column beside the paper's.
AS_IN_PAPER = {"sst2-all": "sst2", "github_egos": "github", "bbbp-256": "bbbp", "bace-256": "bace"}
STAND_INS = ("github_egos",)  # other graphs than the paper's: its numbers stand there, and nothing is subtracted


@dataclass(frozen=True)
class Published:
    mean: float  # in percent
    std: float | None


@cache
def _all() -> dict[tuple[str, ...], Published]:
    text = files("graphfnp.experiments").joinpath("published.csv").read_text()
    return {
        (row["table"], row["dataset"], row["backbone"], row["method"], row["measure"]): Published(
            float(row["mean"]), float(row["std"]) if row["std"] else None
        )
        for row in csv.DictReader(text.splitlines())
    }


def published(table: str, dataset: str, backbone: str, method: str, measure: str) -> Published | None:
    return _all().get((table, AS_IN_PAPER.get(dataset, dataset), backbone, method, measure))


PERFORMANCE = {"AUROC": "auroc", "accuracy": "accuracy"}
CALIBRATION = {"ECE raw": "ece_raw", "ECE": "ece", "NLL": "nll", "Brier": "brier", **PERFORMANCE}
RATIONALES = {
    "ECE raw": "ece_raw", "ECE": "ece", "NLL": "nll", **PERFORMANCE,
    "RF1 (K=1)": "rationale_f1_1", "macro RF1": "rationale_f1_macro_1",
}  # fmt: skip
MEASURES: dict[str, dict[str, str]] = {  # table -> heading -> measure
    "calibration": CALIBRATION,
    "temperature": {
        f"{heading} {way}": f"{measure}_{way}"
        for heading, measure in {"ECE": "ece", "NLL": "nll", "Brier": "brier"}.items()
        for way in ("raw", "soft", "free")
    },
    "ablation": RATIONALES,
    "rationales-per-class": RATIONALES,
    "parts": CALIBRATION,
    "beside-forest": CALIBRATION,
    "class-balance": CALIBRATION,
    "rationale-f1": {
        "RF1 (K=1)": "rationale_f1_1", "RF1 (K=3)": "rationale_f1_3", "macro (K=1)": "rationale_f1_macro_1",
        "always 1": "rationale_f1_constant", "s a graph": "seconds_per_graph",
    },
    "rationales": {
        "link precision": "link_precision_mean", "worst": "link_precision_worst",
        "nearest rationale right": "nearest_rationale_accuracy", "accuracy": "accuracy", "RF1 (K=1)": "rationale_f1_1",
        "redundancy": "redundancy", "kernel >= .5": "reached", "decoder alone": "reached_by_decoder_alone",
        "holder AUC": "holder_auc", "deletion > 0": "deletion_above_0", "edge ROC-AUC": "edge_roc_auc",
        "shuffled AUROC": "shuffled_auroc", "confidence there": "shuffled_confidence",
    },
    "explanation-auc": {
        "edge ROC-AUC": "edge_roc_auc", "precision at truth": "precision_at_truth",
        "fid+ (label)": "fidelity_label_plus", "fid- (label)": "fidelity_label_minus",
        "fid+ (prob.)": "fidelity_probability_plus", "fid- (prob.)": "fidelity_probability_minus",
        "stability": "stability", "s a graph": "seconds_per_graph",
    },
}  # fmt: skip
# Our measure that stands beside the published one: the paper's Table 1 has no temperature, its appendix a free one.
BESIDE_PUBLISHED = {
    "calibration": "ece_raw", "temperature": "ece_free", "ablation": "ece_raw", "rationale-f1": "rationale_f1_1",
}  # fmt: skip
# What a row of these is compared with, seed by seed; in the others it is GraphFNP.
COMPARED_WITH = {
    "ablation": "whole", "rationales-per-class": "R_k = 5", "parts": "without", "class-balance": "balanced",
    "beside-forest": "graphfnp-forest",
}  # fmt: skip
NOT_IN_PERCENT = ("seconds_per_graph", "nll", "brier")


@dataclass(frozen=True)
class Part:
    """What a table has for one dataset and backbone; the best numbers of a column stand in ``**``."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def render(table: Table, results: Results, costs: Mapping[str, float] | None = None) -> str:
    """The table as Markdown."""
    shown = [f"### {part.title}\n\n{markdown(part.heads, part.rows)}" for part in parts(table, results, costs)]
    return "\n\n".join([f"## {table.title}", *shown, missing(table, results)])


def parts(table: Table, results: Results, costs: Mapping[str, float] | None = None) -> list[Part]:
    """Those of which anything is finished."""
    places: dict[tuple[str, str], list[Group]] = {}
    for group in table.groups():
        places.setdefault((group.column.name, group.backbone), []).append(group)
    found = (_part(table.name, groups, results, costs or {}) for groups in places.values())
    return [part for part in found if part is not None]


def _part(name: str, groups: Sequence[Group], results: Results, costs: Mapping[str, float]) -> Part | None:
    entries = [(group, entry) for group in groups if (entry := summary(group, results)) is not None]
    if not entries:
        return None
    column, backbone = groups[0].column, groups[0].backbone
    chosen = MEASURES[name]
    best = {measure: _best([entry for _, entry in entries], measure) for measure in chosen.values()}
    finished = {group.row.label: group.finished(results) for group, _ in entries}
    judged = {
        "temperature": "nll_soft",
        "rationale-f1": "rationale_f1_1",
        "explanation-auc": "edge_roc_auc",
        "rationales": "link_precision_mean",
    }
    compared = judged.get(name, "nll")
    other = COMPARED_WITH.get(name, "GraphFNP")
    heads = ["method", *chosen, f"{dict(zip(chosen.values(), chosen, strict=True))[compared]} - {other} (p)"]
    heads += ["cost"] if name == "calibration" and costs else []
    heads += ["in the paper", "difference"] if name in BESIDE_PUBLISHED else []
    rows = []
    for group, entry in entries:
        cells = [_label(entry, group)]
        cells += [_number(entry, measure, best[measure]) for measure in chosen.values()]
        cells.append(_against(group, finished, compared))
        if "cost" in heads:
            cells.append(f"{costs[group.row.label]:.2f}" if group.row.label in costs else "")
        if name in BESIDE_PUBLISHED:
            cells += _beside_the_paper(name, entry)
        rows.append(cells)
    return Part(f"{column.name}, {backbone.upper()}" + (f": {column.note}" if column.note else ""), heads, rows)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _label(entry: Mapping[str, Any], group: Group) -> str:
    done, diverged, all_ = len(entry["seeds"]), entry.get("diverged", 0), len(group.seeds)
    notes = [f"{diverged} of {all_} seeds diverged"] if diverged else []
    notes += [f"{done} of {all_} seeds"] if done + diverged < all_ else []
    return entry["method"] + (f" ({', '.join(notes)})" if notes else "")


def _best(entries: Sequence[Mapping[str, Any]], measure: str) -> str | None:
    """The best mean as it is printed: what prints alike is bold alike. One row alone is the best of nothing."""
    known = [entry[f"{measure}_mean"] for entry in entries if f"{measure}_mean" in entry and entry["complete"]]
    if len(known) < 2 or measure == "rationale_f1_constant":  # the same for all
        return None
    return _printed(max(known) if measure in MORE_IS_BETTER else min(known), measure)


def _printed(value: float, measure: str, sign: str = "") -> str:
    return f"{value:{sign}.3f}" if measure.startswith(NOT_IN_PERCENT) else f"{100 * value:{sign}.1f}"


def _number(entry: Mapping[str, Any], measure: str, best: str | None) -> str:
    if f"{measure}_mean" not in entry:
        return ""
    mean, spread = (_printed(entry[f"{measure}_{kind}"], measure) for kind in ("mean", "std"))
    return f"**{mean} ± {spread}**" if entry["complete"] and mean == best else f"{mean} ± {spread}"


def _against(group: Group, finished: Mapping[str, Sequence[Mapping[str, Any]]], measure: str) -> str:
    """The paired difference to the row that this one is compared with."""
    row = group.row
    if row.label == row.against:
        return ""
    pair = paired(finished[row.label], finished.get(row.against, []), measure, group.column.overlap)
    if pair is None:
        return ""
    p = "< .01" if pair.p < 0.005 else f"{pair.p:.2f}"
    return f"{_printed(pair.mean, measure, '+')} ± {_printed(pair.error, measure)} ({p})"


def _beside_the_paper(table: str, entry: Mapping[str, Any]) -> list[str]:
    name = entry["method"].replace("-explainer", "explainer")
    if table == "ablation":  # of the literal method, beside which both stand
        name = "graphfnp" if name == "paper" else name.removeprefix("paper, ")
    measure = "rf1_1" if table == "rationale-f1" else "ece"
    theirs = published(table, entry["dataset"], entry["backbone"], name, measure)
    if theirs is None:
        return ["", ""]
    spread = "" if theirs.std is None else f" ± {theirs.std:.1f}"
    if entry["dataset"] in STAND_INS:
        return [f"{theirs.mean:.1f}{spread} (other graphs)", ""]
    return [f"{theirs.mean:.1f}{spread}", f"{100 * entry[f'{BESIDE_PUBLISHED[table]}_mean'] - theirs.mean:+.1f}"]


def missing(table: Table, results: Results) -> str:
    """What is still to do, a dataset and backbone at a time."""
    waiting: dict[str, list[Group]] = {}
    for group in table.groups():
        if group.missing(results):
            waiting.setdefault(f"{group.column.name} {group.backbone.upper()}", []).append(group)
    if not waiting:
        return "Nothing is missing."
    parts = []
    for place, groups in waiting.items():
        begun = [
            f"{group.row.label} ({len(done)} of {len(group.seeds)} seeds)"
            for group in groups
            if (done := group.finished(results))
        ]
        untouched = len(groups) - len(begun)
        begun += [f"{untouched} {'row' if untouched == 1 else 'rows'} not begun"] if untouched else []
        parts.append(f"* {place}: {', '.join(begun)}")
    return "Missing:\n\n" + "\n".join(parts)
