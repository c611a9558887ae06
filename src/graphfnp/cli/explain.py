"""``graphfnp explain``: which rationales a prediction leans on, and where the input holds them."""

from typing import TYPE_CHECKING, Annotated

import typer

from graphfnp.cli.options import AsJson, Candidates, DataFolder, Out, RunFolder, Seed, Smiles

if TYPE_CHECKING:
    from graphfnp.cli.inputs import Rows
    from graphfnp.graphs.problem import Problem

MOST = 24  # graphs on one page
EXPLAINER = (
    "What explains: rationales, gnn-explainer, pg-explainer, subgraphx, gstarx, gsat (of a gsat run); or, to generate "
    "graphs of each class whatever the input, xgnn, gnn-interpreter, mage or (of a protgnn run) protgnn."
)


def explain(
    run: RunFolder,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="A SMILES, a file of molecules, or a dataset's name.")],
    out: Out = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="Rows to explain, e.g. 0,7,12, counted as predict does: the first under the header is 0. "
            f"Default: the first {MOST}."
        ),
    ] = None,
    explainer: Annotated[str, typer.Option(help=EXPLAINER)] = "rationales",
    smiles: Smiles = None,
    candidates: Candidates = 120,
    seed: Seed = 0,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Draw inputs beside the rationales they are correlated with: explanation.html and explanations.json."""
    from dataclasses import replace

    import torch

    from graphfnp.cli.console import out as console
    from graphfnp.cli.console import say
    from graphfnp.cli.inputs import read_input
    from graphfnp.datasets.columns import row_names
    from graphfnp.errors import InvalidGraphs
    from graphfnp.graphs.matching import matching
    from graphfnp.graphs.packed import UNLABELLED
    from graphfnp.rationales.config import decoding_for
    from graphfnp.rationales.explain import explain_by_rationales
    from graphfnp.report.explanation_page import RECORDS, write_explanations
    from graphfnp.runs.bundles import open_run, own_folder
    from graphfnp.runs.decoded import decoded_of_run

    loaded = open_run(run)
    model, schema = loaded.model, loaded.model.classifier.schema
    if explainer == "rationales" and model.classifier.rationale_model is None:
        raise InvalidGraphs(
            f"{run}, whose method has no rationales",
            "a graphfnp run",
            "train with --method graphfnp, or name an --explainer",
        )
    read = read_input(source, schema, data, seed, smiles)
    if read.graphs is None or not len(read.graphs):
        reason = read.problems[0].reason if read.problems else "no graphs"
        raise InvalidGraphs(f"{source}: {reason}" if source else reason, "at least one graph", "check the input")
    chosen, refused = _chosen(read, rows)
    place = {row: graph for graph, row in enumerate(read.rows)}
    graphs = read.graphs.select([place[row] for row in chosen])
    try:
        graphs = matching(graphs, schema)
    except InvalidGraphs:  # labels that are not the model's classes are no reason not to explain
        graphs = matching(replace(graphs, y=torch.full_like(graphs.y, UNLABELLED)), schema)
    names = row_names(read.columns, chosen)
    if rows is None and len(chosen) < len(read.rows):
        say(f"{len(chosen)} of {len(read)} rows are explained; choose others with --rows")
    for problem in refused:
        say(f"row {problem.row}: {problem.given!r}: {problem.reason}", "yellow")
    if explainer != "rationales":
        from graphfnp.cli.explain_masks import explain_with

        folder = out or own_folder(loaded) / explainer
        explain_with(loaded, graphs, chosen, explainer, folder, seed, data, as_json, names, refused)
        return
    config = replace(decoding_for(schema), candidates=candidates)
    usual = config == decoding_for(schema) and seed == 0
    decoded = decoded_of_run(loaded, data, None if usual else config, seed)
    found = decoded.rationales
    explanations = explain_by_rationales(model, found, graphs, seed)
    labels = [schema.class_names[y] if y >= 0 else "" for y in graphs.y.tolist()]
    folder = out or own_folder(loaded) / "explanation"
    title = f"Explanations of {loaded.plan.method}: {source}"
    known = labels if any(labels) else ()
    page = write_explanations(folder, title, model, explanations, found, known, chosen, names, refused)
    if as_json:
        typer.echo((folder / RECORDS).read_text())
    else:
        say(f"explanation  {page}", console=console)


def _chosen(read: "Rows", text: str | None) -> "tuple[list[int], list[Problem]]":
    """The rows to explain, by their numbers in the input, and those among them that are no graph."""
    from graphfnp.errors import InvalidConfig, InvalidGraphs

    refused = {problem.row: problem for problem in read.problems}
    if text is None:
        chosen = read.rows[:MOST]
        last = chosen[-1] if len(chosen) < len(read.rows) else max([*read.rows, *refused])
        return chosen, [problem for row, problem in sorted(refused.items()) if row <= last]
    try:
        wanted = [int(one) for one in text.split(",")]
    except ValueError:
        wanted = [-1]
    known = {*read.rows, *refused}
    if not all(one in known for one in wanted):
        numbers = f"row numbers from {min(known)} to {max(known)} with commas between"
        raise InvalidConfig(f"--rows {text}", numbers, "count rows as predict does: the first under the header is 0")
    good = [one for one in wanted if one not in refused]
    bad = [refused[one] for one in wanted if one in refused]
    if not good:
        raise InvalidGraphs(
            f"row {bad[0].row}: {bad[0].reason}", "a row that is a graph", "choose other rows with --rows"
        )
    return good, bad
