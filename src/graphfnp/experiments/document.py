"""docs/results.md and a page for each table, written from the results alone."""

from pathlib import Path

from graphfnp.experiments.cell import Cell
from graphfnp.experiments.claims import OURS, claims, places
from graphfnp.experiments.figures import draw
from graphfnp.experiments.outstanding import outstanding
from graphfnp.experiments.overview import (
    claim_counts,
    render_choices,
    render_claims,
    render_doubt,
    render_outstanding,
    render_own_size,
    render_places,
    render_ranks,
    render_trained_again,
)
from graphfnp.experiments.protocol import COLUMNS, LEARNING_RATES, RECIPE, WIDTH
from graphfnp.experiments.render import render
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import costs, summaries, summary
from graphfnp.experiments.tables import TABLES

GUIDE = "[Results](results.md#how-to-read-the-tables)"
ABOUT = {  # pages that say what the columns of a table mean, and why numbers are as they are
    "explanation-auc": "[Explainers](explainers.md#how-good)",
    "rationales": "[Rationales](rationales.md)",
    "beside-forest": "[Few molecules](chemists-guide.md#few-molecules)",
}


def documents(results: Results, images: Path | None = None) -> dict[str, str]:
    """Pages by file name: ``results.md``, which opens with a few sentences and one figure, and one for each table.

    Figures are written to ``images``, which must lie beside the pages.
    """
    ratios = costs(results.folder.parent)
    drawn = [] if images is None else [(one.table, one.markdown(images.name)) for one in draw(results, images)]
    first, others = "".join(text for _, text in drawn[:1]), drawn[1:]
    links = "\n".join(f"* [{table.title}]({page_name(name)})" for name, table in TABLES.items())
    links += f"\n* [Choices made on validation]({page_name('choices')})"
    opening = [
        "# Results", " ".join(sentences(results)), render_places(results), first, render_doubt(results),
        render_own_size(results), render_ranks(results), render_claims(results), f"## Tables\n\n{links}", _rules(),
        render_outstanding(results),
    ]  # fmt: skip
    pages = {page_name(): opening, page_name("choices"): [render_choices(results)]}
    for name, table in TABLES.items():
        body = render(table, results, ratios).removeprefix(f"## {table.title}").lstrip()
        about = f"Rerun: `graphfnp table {name} --fill --workers 2`. {GUIDE} explains how to read the table."
        about += f" {ABOUT[name]} says more of what it shows." if name in ABOUT else ""
        figures = (text for of, text in others if of == name)
        again = render_trained_again(results) if name == "parts" else ""
        pages[page_name(name)] = [f"# {table.title}", about, again, *figures, body]
    return {name: "\n\n".join(part for part in parts if part) + "\n" for name, parts in pages.items()}


def page_name(table: str | None = None) -> str:
    return "results.md" if table is None else f"results-{table}.md"


def sentences(results: Results) -> list[str]:
    """What the tables say, in a few sentences that are as true as they are."""
    if not results.records:
        return ["**Nothing has been run yet under the present protocol**; results of earlier ones were removed."]
    judged, missing = claims(results), outstanding(TABLES.values(), results)
    current = sum(Cell.from_json(record).key == key for key, record in results.records.items())
    earlier = len(results.records) - current
    said = [
        f"{current} cells, each one training or one explainer, follow one protocol, in which no choice is made by a "
        "test score" + (f"; {earlier} of earlier code are kept and stand in no table." if earlier else ".")
    ]
    raw, soft = (places(results, measure) for measure in ("nll_raw", "nll"))
    if soft:
        first = [sum(not place.ahead for place in found) for found in (raw, soft)]
        said.append(
            f"With a GCN, GraphFNP has the lowest test NLL of all single models on {first[0]} of {len(raw)} datasets "
            f"without a temperature, and on {first[1]} if each method has one."
        )
    said.append(f"Of {len(judged)} claims, {claim_counts(judged)}.")
    if ranked := _rationale_places(results):
        said.append(f"By macro Rationale F1 (K = 1), among all explainers, it is {', '.join(ranked)}.")
    links = {
        entry["dataset"]: entry["link_precision_mean_mean"]
        for entry in summaries(TABLES["rationales"], results)
        if entry["method"] == OURS and "link_precision_mean_mean" in entry
    }
    if links:
        least, most = min(links, key=links.__getitem__), max(links, key=links.__getitem__)
        said.append(
            f"The link precision of rationales, the share of links to graphs of their own class, is "
            f"{100 * links[least]:.0f} % ({least}) to {100 * links[most]:.0f} % ({most}); chance is 50 %."
        )
    if missing:
        hours = sum(one.core_hours for one in missing)
        said.append(f"{sum(one.cells for one in missing)} cells have not been run ({hours:.0f} core-hours or more).")
    return said


def _rationale_places(results: Results) -> list[str]:
    """On each dataset with all rows of Table 2: the place of GraphFNP's rationales."""
    table, found = TABLES["rationale-f1"].only(backbones=["gcn"]), []
    for name in table.columns:
        groups = list(table.only(columns=[name]).groups())
        entries = [entry for group in groups if (entry := summary(group, results)) is not None and entry["complete"]]
        macro = {entry["method"]: entry.get("rationale_f1_macro_1_mean") for entry in entries}
        known = [value for value in macro.values() if value is not None]
        if len(known) == len(groups):
            above = sum(value > macro[OURS] for value in known)
            found.append(f"number {above + 1} of {len(known)} on {name}")
    return found


def _rules() -> str:
    columns = "\n".join(f"* **{column.name}**: {column.note}" for column in COLUMNS.values())
    rates = ", ".join(f"{rate:g}" for rate in LEARNING_RATES)
    return f"""## How to read the tables

`graphfnp table NAME --fill --workers 2` trains what is missing, `graphfnp table NAME --json` prints the numbers,
`graphfnp table --write docs/results.md` writes these pages. The command of every training is in
`results/cells/*.jsonl`, under `provenance`; where it names no epochs, add `--epochs {RECIPE["epochs"]}`.

Protocol (docs/paper-notes.md): three-layer backbone {WIDTH} wide, {RECIPE["epochs"]} epochs, the last one is used.
Tuning: learning rate of {{{rates}}} and one further value of one setting of the method, by the mean validation NLL over
the tuning seeds. This budget is the same for every method, except that a forest has no rate and an ensemble uses the
choice of its members. Every method is scored *raw*, *soft* (one temperature in [1, 10], fitted on validation; it can
only lower confidence) and *free* (in [.2, 10]). Scores without a name are soft, and claims are judged by soft scores.
Training weights the classes equally, and tables are scored for this even label mix; the commands for users move
probabilities to the mix of the training data instead.
Numbers are means ± standard deviations over seeds, without seeds whose training diverged; ECE, AUROC and accuracy are
in percent. The best of a column is bold. *NLL - GraphFNP* is the paired difference over seeds with its standard error
and p-value; positive means that GraphFNP is better. For Rationale F1, edges and links more is better: there the
difference is in points, and negative means that GraphFNP is better. *cost*: prediction time divided by Vanilla's. The
paper's ECE is compared with our raw ECE.

{columns}"""
