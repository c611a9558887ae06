"""``graphfnp rationales``: what a run's model looks for, as a gallery with its evidence."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from graphfnp.cli.options import AsJson, Candidates, DataFolder, Out, RunFolder, Seed

SOURCES = ("both", "decoder", "training")


def rationales(
    run: RunFolder,
    out: Out = None,
    candidates: Candidates = 120,
    source: Annotated[
        str, typer.Option(help="Where candidates come from: both, decoder, or training (parts of training graphs).")
    ] = "both",
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature of the decoder; 0: most probable choices only.")
    ] = None,
    largest: Annotated[int | None, typer.Option(help="Nodes (heavy atoms) of the largest candidate.")] = None,
    other: Annotated[
        list[Path] | None,
        typer.Option("--other", help="Run with another seed, to see which rationales are stable; repeatable."),
    ] = None,
    seed: Seed = 0,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Decode what the model looks for into small graphs: gallery.html, drawings, rationales.json, SMILES and SMARTS."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from graphfnp.cli.console import err, number, percent, say
    from graphfnp.cli.console import out as console
    from graphfnp.datasets.columns import row_names
    from graphfnp.errors import InvalidConfig, InvalidGraphs
    from graphfnp.rationales.config import decoding_for
    from graphfnp.rationales.find import find_rationales
    from graphfnp.rationales.store import decode
    from graphfnp.report.gallery import gallery_figures, write_gallery
    from graphfnp.runs.bundles import is_bundled, open_run, own_folder
    from graphfnp.runs.decoded import decoded_of_run

    if source not in SOURCES:
        raise InvalidConfig(f"--source {source}", f"one of {', '.join(SOURCES)}", "choose one of these")
    loaded = open_run(run)
    model, schema = loaded.model, loaded.model.classifier.schema
    if model.classifier.rationale_model is None:
        raise InvalidGraphs(f"{run}, whose method has no rationales", "a graphfnp run", "train with --method graphfnp")
    changes: dict[str, Any] = {"candidates": candidates if source != "training" else 0}
    if source == "decoder":
        changes["training_graphs"] = 0
    given = {"temperature": temperature, "largest": largest}
    changes |= {name: value for name, value in given.items() if value is not None}
    config = replace(decoding_for(schema), **changes)
    usual = config == decoding_for(schema) and seed == 0
    # A bundled model brings its rationales along; whatever else is asked for needs the data.
    without = (usual and is_bundled(loaded) and not other) or not loaded.has_data
    dataset = None if without else loaded.dataset(data)
    with nullcontext() if as_json else err.status("decoding"):
        if other:
            train = None if dataset is None else dataset.train
            others = [find_rationales(open_run(one).model, config, seed, train) for one in other]
            decoded = decode(model, dataset, config, seed, others)
        else:
            decoded = decoded_of_run(loaded, data, None if usual else config, seed, dataset)
    records, figures = decoded.records, {}
    if dataset is not None:
        part = "test" if len(dataset.split.test) else "validation"
        rows = dataset.rows_of(part)
        called = [name or f"row {row}" for row, name in zip(rows, row_names(dataset.columns, rows), strict=True)]
        figures = gallery_figures(model, decoded.rationales, getattr(dataset, part), called, loaded.plan.seed)
    title = f"Rationales of {loaded.plan.method} on {loaded.plan.dataset}"
    folder = out or own_folder(loaded) / "rationales"
    page = write_gallery(folder, title, decoded.rationales, records, decoded.examples, schema, figures)
    if as_json:
        typer.echo(json.dumps(records, indent=1))
        return
    table = Table("rationale", "class", "kernel", "link precision", "coverage", box=SIMPLE_HEAD)
    table.add_column("structure", overflow="fold")
    for record in records:
        shapes = (record.get(name) for name in ("fragment", "smiles", "words", "motif", "reason"))
        shape = next(filter(None, shapes), "a graph")
        alerts = f" ({', '.join(record['alerts'])})" if record["alerts"] else ""
        table.add_row(
            f"R{record['rationale']}", escape(record["label"]), number(record["structure_kernel"]),
            percent(record.get("link_precision")), percent(record["coverage"]),
            escape(shape + alerts),
        )  # fmt: skip
    console.print(table)
    say(f"gallery  {page}", console=console)
