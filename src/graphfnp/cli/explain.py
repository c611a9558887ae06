"""``graphfnp explain``: which rationales a prediction leans on, and where the input holds them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.data import DataFolder

MOST = 24  # graphs on one page
EXPLAINER = (
    "What explains: rationales, gnn-explainer, pg-explainer, subgraphx, gstarx, gsat (of a gsat run); or, to generate "
    "graphs of each class whatever the input, xgnn or gnn-interpreter."
)


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or a bundled model: bbbp.")],
    source: Annotated[str, typer.Argument(metavar="INPUT", help="A SMILES, a file of molecules, or a dataset's name.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; default: RUN/explanation.")] = None,
    rows: Annotated[
        str | None, typer.Option(help=f"Graphs to explain, e.g. 0,7,12; default: the first {MOST}.")
    ] = None,
    explainer: Annotated[str, typer.Option(help=EXPLAINER)] = "rationales",
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES; default: found by name.")] = None,
    candidates: Annotated[int, typer.Option(help="Structures drawn from the decoder for each rationale.")] = 120,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    data: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")] = False,
) -> None:
    """Draw inputs beside the rationales they are correlated with: explanation.html and explanations.json."""
    from dataclasses import replace

    from graphfnp.cli.commands import read_input
    from graphfnp.cli.console import out as console
    from graphfnp.errors import InvalidGraphs
    from graphfnp.graphs.matching import matching
    from graphfnp.rationales.config import decoding_for
    from graphfnp.rationales.explain import explain_by_rationales
    from graphfnp.report.explanation_page import explanation_records, write_explanations
    from graphfnp.runs.bundles import open_run, own_folder
    from graphfnp.runs.decoded import decoded_of_run

    loaded = open_run(run)
    model, schema = loaded.model, loaded.model.classifier.schema
    if explainer == "rationales" and model.classifier.rationales() is None:
        raise InvalidGraphs(
            f"{run}, whose method has no rationales",
            "a graphfnp run",
            "train with --method graphfnp, or name an --explainer",
        )
    graphs, _, problems = read_input(source, schema, data, seed, smiles)
    if graphs is None or not len(graphs):
        reason = problems[0].reason if problems else "no graphs"
        raise InvalidGraphs(f"{source}: {reason}", "at least one graph", "check the input")
    chosen = list(range(min(MOST, len(graphs)))) if rows is None else _numbers(rows, len(graphs))
    graphs = matching(graphs.select(chosen), schema)
    if explainer != "rationales":
        from graphfnp.cli.explain_masks import explain_with

        explain_with(loaded, graphs, chosen, explainer, out or own_folder(loaded) / explainer, seed, data, as_json)
        return
    config = replace(decoding_for(schema), candidates=candidates)
    usual = config == decoding_for(schema) and seed == 0
    decoded = decoded_of_run(loaded, data, None if usual else config, seed)
    found = decoded.rationales
    explanations = explain_by_rationales(model, found, graphs, seed)
    labels = [schema.class_names[y] if y >= 0 else "" for y in graphs.y.tolist()]
    folder = out or own_folder(loaded) / "explanation"
    title = f"Why {loaded.plan.method} says so: {source}"
    page = write_explanations(folder, title, explanations, found, labels if any(labels) else (), chosen)
    if as_json:
        typer.echo(json.dumps(explanation_records(explanations, found, chosen), indent=1))
    else:
        console.print(f"explanation  {page}", highlight=False, markup=False)


def _numbers(text: str, count: int) -> list[int]:
    from graphfnp.errors import InvalidConfig

    try:
        chosen = [int(one) for one in text.split(",")]
    except ValueError:
        chosen = [-1]
    if not all(0 <= one < count for one in chosen):
        raise InvalidConfig(f"--rows {text}", f"numbers from 0 to {count - 1} with commas between", "check the rows")
    return chosen
