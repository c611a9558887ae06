"""The page of results: places, what the method's doubt gains and costs, ranks, claims, choices, and what is missing."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphfnp.errors import listed
from graphfnp.experiments.claims import CONTROL, OURS, QUESTIONS, Claim, claims, places
from graphfnp.experiments.outstanding import outstanding
from graphfnp.experiments.protocol import BACKBONES, COLUMNS, PARTS_WEIGHT
from graphfnp.experiments.ranks import ranks
from graphfnp.experiments.render import CALIBRATION, Part, markdown, published
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import summary
from graphfnp.experiments.tables import TABLES, Row

WITHOUT_DRAWS = "w/o C"  # of the ablation


COUNTED = {
    "holds": ("holds", "hold"), "holds in the mean, not significant": ("holds in the mean", "hold in the mean"),
    "does not hold": ("does not hold", "do not hold"), "not run": ("has not been run", "have not been run"),
}  # fmt: skip
BRIEFLY = {"holds": "yes", "holds in the mean, not significant": "in the mean", "does not hold": "no"}


def claim_counts(judged: Sequence[Claim]) -> str:
    counts = Counter(claim.verdict for claim in judged)
    said = ((counts[verdict], one, many) for verdict, (one, many) in COUNTED.items() if counts[verdict])
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in said)


def claim_parts(results: Results) -> list[str | Part]:
    """What is claimed, and a grid of datasets by claims; then those that are over several datasets."""
    judged, parts = claims(results), TABLES["parts"]
    complete = [name for name in parts.columns if not parts.only(columns=[name]).missing(results)]
    about = (
        "Claims: GraphFNP has a lower NLL or Brier than the rivals, and the best ECE and AUROC, or is within one "
        f"standard error of the best. Of {len(judged)} such claims, all soft, {claim_counts(judged)}; `graphfnp table "
        "claims --json` lists them. Each verdict comes with the difference to the hardest rival (negative: GraphFNP is "
        "better) and its name, or with both values. *yes* for a difference: p < .05 in a one-sided paired t-test, "
        "after Holm's correction over all tested claims and, for random splits, which share graphs, Nadeau and "
        "Bengio's; *in the mean*: a lead that is not significant. Seeds of one split support claims about that split "
        "only. *focal, parts* and similar rivals also learn from random parts of graphs, as GraphFNP and the network "
        f"without rationales always do; they were run on {listed(complete) or 'no dataset yet'}, with a GCN."
    )
    known = {(claim.where, claim.says): claim for claim in judged if claim.holds is not None}
    rows = [
        [where, *(_brief(known.get((where, question.says))) for question in QUESTIONS)]
        for where in dict.fromkeys(where for where, _ in known if where)
    ]
    over_all = [
        f"* {claim.says}: {claim.verdict}; {claim.numbers}." for (where, _), claim in known.items() if not where
    ]
    grid = [Part("", ["", *(question.heading for question in QUESTIONS)], rows)] if rows else []
    return [about, *grid, *(["\n".join(over_all)] if over_all else [])]


def _brief(claim: Claim | None) -> str:
    if claim is None:
        return ""
    said = f"{BRIEFLY[claim.verdict]}, {claim.brief}"
    return f"**{said}**" if claim.verdict == "holds" else said


def render_claims(results: Results) -> str:
    shown = (part if isinstance(part, str) else markdown(part.heads, part.rows) for part in claim_parts(results))
    return "\n\n".join(["## Claims", *shown])


def render_places(results: Results) -> str:
    """GraphFNP among the single models on each complete dataset and backbone, without and with a temperature."""
    rows = []
    of_raw, of_soft = ([p for name in BACKBONES for p in places(results, m, name)] for m in ("nll_raw", "nll"))
    for raw, soft in zip(of_raw, of_soft, strict=True):
        cells = [f"{raw.dataset}, {raw.backbone.upper()}"]
        for place in (raw, soft):
            best = "; ".join(f"{name} {mean:.3f}" for name, mean in list(place.ahead.items())[:2])
            cells += [f"{place.number} of {place.models}", f"{place.ours:.3f}", best]
        rows.append(cells)
    heads = ["", "rank, raw", "NLL, raw", "best rivals ahead", "rank, soft", "NLL, soft", "best rivals ahead"]
    return markdown(heads, rows) if rows else ""


def render_doubt(results: Results) -> str:
    """What GraphFNP's doubt gains and costs: the method beside itself with kappa in the place of drawn links."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for group in TABLES["ablation"].only(backbones=["gcn"], methods=[OURS, WITHOUT_DRAWS]).groups():
        entry = summary(group, results)
        if entry is not None and entry["complete"]:
            found.setdefault(group.column.name, {})[entry["method"]] = entry
    pairs = {name: (row[OURS], row[WITHOUT_DRAWS]) for name, row in found.items() if len(row) == 2}
    if not pairs:
        return ""
    rows = [
        [
            name, f"{drawn['unreached_mean']:.2f}",
            *(f"{one[f'{way}_mean']:.3f}" for way in ("nll_raw", "nll", "nll_free") for one in (drawn, mean)),
            *(f"{100 * one['auroc_mean']:.1f}" for one in (drawn, mean)),
        ]
        for name, (drawn, mean) in pairs.items()
    ]  # fmt: skip
    heads = ["", "p0", *(f"{of}{how}" for of in ("NLL raw", "NLL", "NLL free", "AUROC") for how in ("", ", w/o C"))]
    gains = [name for name, (drawn, mean) in pairs.items() if drawn["nll_raw_mean"] < mean["nll_raw_mean"]]
    costs = [name for name in pairs if name not in gains]
    falls = [name for name, (drawn, mean) in pairs.items() if drawn["auroc_mean"] <= mean["auroc_mean"] - 0.005]
    said = [
        "GraphFNP draws the links between a graph and the rationales at random. A draw without a link predicts the "
        "class frequencies (the prior). So a share p0 of every prediction is the prior, whatever the network "
        "predicts; this share is the method's doubt, and the table has its mean over 256 validation graphs at most. "
        "*w/o C* is the same method with link probabilities in place of draws, and so without the prior.",
        f"Before a temperature the doubt lowers the NLL on {', '.join(gains) or 'no dataset'}, "
        f"and raises it on {', '.join(costs) or 'none'}.",
        "A temperature of at least 1 lowers the confidence of every rival too, but cannot raise that of GraphFNP; a "
        "free one can.",
        f"p0 also affects the ranking of graphs: AUROC falls by half a point or more on {', '.join(falls) or 'none'}.",
    ]
    return f"## What its doubt gains and costs\n\n{' '.join(said)}\n\n{markdown(heads, rows)}"


def render_ranks(results: Results) -> str:
    """All methods in one table, the best first: a newcomer's first look."""
    chosen = {heading: measure for heading, measure in CALIBRATION.items() if measure != "ece_raw"}
    found = ranks(results, list(chosen.values()))
    if not found.places:
        return ""
    best = {measure: min(row[measure] for row in found.mean.values()) for measure in chosen.values()}
    rows = [
        [
            method,
            *(f"**{row[m]:.1f}**" if row[m] == best[m] else f"{row[m]:.1f}" for m in chosen.values()),
            _p(found.wilcoxon.get(method, {}).get("nll")),
        ]
        for method, row in sorted(found.mean.items(), key=lambda item: item[1]["nll"])
    ]
    where = (
        f"Mean rank of {len(rows)} methods (1 is best) over {len(found.places)} columns, {found.splits} splits: "
        f"{', '.join(found.places)}. Friedman's test of equal NLL ranks: p {_p(found.friedman['nll'], '= ')}. "
        "*p*: NLL against GraphFNP over all splits (Wilcoxon, Holm). Splits of a dataset share graphs, so the tests "
        "hold for these datasets only."
    )
    return f"## Overview\n\n{where}\n\n{markdown(['method', *chosen, 'p'], rows)}"


OWN_SIZE = ("bbbp-256", "bace-256", "sst2-all")
AS_PRINTED = {"paper": OURS}  # the paper's row for its method, beside the method as printed and beside ours


def render_own_size(results: Results) -> str:
    """Table 1 at the paper's own width, or on as many graphs: our ECE without a temperature beside the paper's."""
    found: dict[str, dict[str, str]] = {}
    for group in TABLES["calibration"].only(columns=list(OWN_SIZE)).groups():
        entry, method = summary(group, results), group.row.method
        known = published("calibration", group.column.name, group.backbone, AS_PRINTED.get(method, method), "ece")
        if entry is not None and entry["complete"] and known is not None:
            place = f"{group.column.dataset}, {group.backbone.upper()}"
            found.setdefault(method, {})[place] = f"{100 * entry['ece_raw_mean']:.1f} / {known.mean:.1f}"
    if not found:
        return ""
    places = list(dict.fromkeys(place for row in found.values() for place in row))
    rows = [[method, *(row.get(place, "") for place in places)] for method, row in found.items()]
    about = (
        "ECE in percent without a temperature, ours / the paper's: 256 wide and five seeds; Graph-SST2 with all its "
        "sentences, but 128 wide and three seeds. The paper's GraphFNP is compared with ours and with the method as "
        "printed (*paper*, 40 epochs where it is 256 wide). The paper does not say "
        "how many epochs its networks were trained for; longer training makes a network more confident."
    )
    return f"## At the paper's own size\n\n{about}\n\n{markdown(['', *places], rows)}"


def render_trained_again(results: Results) -> str:
    """How far rows of the table of parts lie from those of Table 1 that differ in nothing but when they were run."""
    cells: dict[str, list[float]] = {}
    means: dict[str, float] = {}
    for group in TABLES["parts"].groups():
        if group.row.overrides != {"training.parts": PARTS_WEIGHT if group.row.method in (OURS, CONTROL) else 0.0}:
            continue
        earlier = replace(group, row=Row(group.row.label, group.row.method))
        pairs = zip(earlier.cells(results), group.cells(results), strict=True)
        apart = [
            results[again]["test"]["soft"]["nll"] - results[once]["test"]["soft"]["nll"]
            for once, again in pairs
            if once in results and again in results
        ]
        if len(apart) == len(group.seeds):
            name = group.column.name
            cells[name] = [*cells.get(name, []), *map(abs, apart)]
            means[name] = max(means.get(name, 0.0), abs(statistics.mean(apart)))
    if not cells:
        return ""
    told = [f"{statistics.mean(cells[name]):.3f} and {means[name]:.3f} on {name}" for name in cells]
    return (
        "**Trained again.** Table 1 also has GraphFNP and the network without rationales with parts, and the others "
        "without; they were trained again for this table. The same code gives the same bits. Where the order of sums "
        "changed in between, NLLs moved by (mean over cells, and largest move of a mean over seeds) "
        f"{', '.join(told)}. Differences of this size mean nothing."
    )


def render_outstanding(results: Results) -> str:
    """What is missing, and what it would cost."""
    found = outstanding(TABLES.values(), results)
    if not found:
        return "## Not run\n\nNothing is missing."
    rows = [
        [one.table, one.place, str(one.cells), f"{one.core_hours:.1f}", str(one.unknown) if one.unknown else ""]
        for one in found
    ]
    about = (
        f"{sum(one.cells for one in found)} cells have not been run under the present protocol, "
        f"{sum(one.core_hours for one in found):.0f} core-hours or more. The estimate is the median of similar cells, "
        "or from the costs of the same dataset, backbone, method and width elsewhere, or from an earlier protocol "
        "(`results/seconds.json`). *unknown*: cells without such an estimate. Cells that several tables share are "
        "listed with the first; tuning may add a few."
    )
    return f"## Not run\n\n{about}\n\n{markdown(['table', 'where', 'cells', 'core-hours', 'unknown'], rows)}"


def _p(value: float | None, equals: str = "") -> str:
    return "" if value is None else "< .001" if value < 0.001 else f"{equals}{value:.3f}"


def render_choices(results: Results) -> str:
    """What every method was run with, and the validation NLL of all that was tried."""
    rows = []
    for group in TABLES["calibration"].groups():
        choice = group.choice(results)
        if choice.overrides is not None and COLUMNS[group.column.name].tuned_as is None:
            tried = "; ".join(f"{_settings(one.overrides)}: {one.nll:.3f}" for one in choice.tried)
            rows.append([group.name, _settings(choice.overrides), tried])
    heads = ["where", "chosen", "tried: validation NLL"]
    about = (
        "The chosen settings of each method, and the mean class-weighted validation NLL of all that were tried. "
        "[The budget is the same for all](results.md#how-to-read-the-tables)."
    )
    return f"# Choices made on validation\n\n{about}\n\n{markdown(heads, rows)}"


def _settings(overrides: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('.')[2]} {value:g}" for name, value in overrides.items())
