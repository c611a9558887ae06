"""docs/results.md: all tables in one page, written from the results alone."""

import json
from pathlib import Path

from graphfnp.experiments.figures import draw
from graphfnp.experiments.protocol import COLUMNS, LEARNING_RATES, RECIPE, WIDTH
from graphfnp.experiments.render import render, render_choices, render_claims, render_outstanding, render_ranks
from graphfnp.experiments.results import Results
from graphfnp.experiments.tables import TABLES

COSTS = "inference.json"


def costs(folder: Path) -> dict[str, float]:
    """Seconds to predict over those of Vanilla, by method, as benchmarks/inference.py measured them side by side."""
    path = folder / COSTS
    return json.loads(path.read_text())["ratio"] if path.is_file() else {}


def document(results: Results, images: Path | None = None) -> str:
    """The page; its figures are written to ``images``, which must lie beside it."""
    ratios = costs(results.folder.parent)
    tables = [render(table, results, ratios) for table in TABLES.values()]
    drawn = {} if images is None else draw(results, images)
    figures = "\n\n".join(f"![{title}]({images.name}/{name})\n\n*{title}.*" for title, name in drawn.items() if images)
    parts = [
        _head(results), render_ranks(results), render_claims(results), figures, *tables, render_choices(results),
        render_outstanding(results),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _count(results: Results) -> str:
    if not results.records:
        return "**Nothing has been run yet under the present rule**; what was run under earlier ones has been removed."
    count = len(results.records)
    return f"{count} cells, each a training or an explainer of one, all by the runner, none chosen by its test part."


def _head(results: Results) -> str:
    columns = "\n".join(f"* **{column.name}**: {column.note}" for column in COLUMNS.values())
    rates = ", ".join(f"{rate:g}" for rate in LEARNING_RATES)
    return f"""# Results

{_count(results)}
`graphfnp table NAME --fill --workers 2` goes on where it stopped, `graphfnp table NAME --json` prints the numbers,
`graphfnp table --write docs/results.md` writes this page. The command of every cell is in `results/cells/*.jsonl`,
under `provenance`.

Protocol (docs/paper-notes.md): three-layer backbone {WIDTH} wide, {RECIPE["epochs"]} epochs, the last one counts;
learning rate of {{{rates}}} and one further value of one setting of the method by the mean validation NLL over the
tuning seeds: the same budget for every method. Every method is scored *raw*, *soft* (one temperature in [1, 10], fitted
on validation: doubt only) and *free* (in [.2, 10]); what is not called otherwise is soft, and claims are judged by it.
Classes weigh alike in training, and probabilities are scored as that training gives them, for an even label mix; the
commands for users say them for the mix of the training data instead.
Numbers are means ± standard deviations over seeds, ECE, AUROC and accuracy in percent. The best of a column is bold.
*NLL - GraphFNP* is the paired difference over seeds with its standard error and p-value: positive means that GraphFNP
is better. *cost*: time to predict over Vanilla's. The paper's ECE stands beside our raw one.

{columns}"""
