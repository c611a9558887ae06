"""The command line ``graphfnp``: its subcommands are the verbs."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from graphfnp.cli.calibrate import calibrate_run
from graphfnp.cli.console import end_well_on_sigterm, explained_errors
from graphfnp.cli.data import data_app
from graphfnp.cli.explain import explain
from graphfnp.cli.models import bundle, export
from graphfnp.cli.options import (
    Address,
    AsJson,
    Classes,
    DataFolder,
    Label,
    MapLabels,
    Mix,
    Models,
    RunFolder,
    Seed,
    Smiles,
    Weighted,
)
from graphfnp.cli.rationales import rationales
from graphfnp.cli.serve import serve
from graphfnp.cli.table import table
from graphfnp.errors import InvalidConfig

# Threads that spin while they wait slow down a shared machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

app = typer.Typer(
    name="graphfnp",
    help="Graph classification with calibrated uncertainty and explanations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"graphfnp {version('graphfnp')}")
        raise typer.Exit


@app.callback()
def graphfnp(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Graph classification with calibrated uncertainty and explanations."""


METHODS = "graphfnp, paper (the literal method), no-rationales (the control), graphfnp-forest (beside a forest), "
METHODS += "vanilla, vanilla-forest, dropedge, mc-dropout, sgld, "
METHODS += "bbp, graph-gp, gsat, protgnn, deep-ensemble, focal, swag, laplace, evidential, forest (on fingerprints)."

Precision = Literal["32-true", "bf16-mixed", "16-mixed"]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Any setting by its dotted name, e.g. backbone.width=128; repeatable."
    ),
]


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Run folder.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of data order, weights and draws.")] = 0,
) -> None:
    """Generate BA2Motifs, train GraphFNP on it, and write a report: two minutes on two cores."""
    from graphfnp.cli import commands

    commands.demo(out, seed)


@app.command()
def train(
    dataset: Annotated[
        str, typer.Argument(help="A name of `graphfnp data list`, tu:NAME, moleculenet:NAME, a file, or a TU folder.")
    ],
    method: Annotated[str, typer.Option(help=METHODS)] = "graphfnp",
    backbone: Annotated[str | None, typer.Option(help="gcn, gat, gin, sage, ggnn or pna.")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Number of epochs, without early stopping; default: 30, more for small sets.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of split, data order, weights and draws.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; default: runs/DATASET-METHOD-SEED.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="random, scaffold, balanced_scaffold, degree_shift, or a column.")
    ] = None,
    smiles: Smiles = None,
    label: Annotated[
        str | None,
        typer.Option(help="Label column; default: found by name. a,b,c trains a model for each column."),
    ] = None,
    classes: Classes = None,
    map_labels: MapLabels = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many graphs of each part.")] = None,
    duplicates_together: Annotated[
        bool, typer.Option("--duplicates-together", help="Keep equal molecules in one part of the split.")
    ] = False,
    standardise: Annotated[
        bool,
        typer.Option(
            "--standardise",
            help="Standardise molecules, in training and prediction: cleaned, "
            "largest fragment, neutral, canonical tautomer.",
        ),
    ] = False,
    features: Annotated[
        str | None,
        typer.Option(
            help="Read beside the structure, here and wherever the model is asked: rdkit (descriptors), columns of "
            "numbers in your file, or both: rdkit,dose,pH."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN", help="Start from the backbone weights of this run or bundled model."),
    ] = None,
    freeze: Annotated[int, typer.Option(help="Number of first layers of that backbone to freeze.", min=0)] = 0,
    settings: Settings = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in the folder.")] = False,
    devices: Annotated[int, typer.Option(min=1, help="Processes that share each batch.")] = 1,
    precision: Annotated[Precision, typer.Option(help="Floating-point precision of training.")] = "32-true",
    data: DataFolder = None,
    report: Annotated[bool, typer.Option(help="Write report.html at the end.")] = True,
    as_json: AsJson = False,
) -> None:
    """Train a method on a dataset; the run folder keeps settings, split, epochs, model, measures and report."""
    from graphfnp.cli import commands

    options = {"split": split, "smiles": smiles, "label": label, "limit": limit}
    options |= {"classes": classes, "map_labels": map_labels, "features": features}
    options |= {"duplicates_together": duplicates_together or None, "standardise": standardise or None}
    if freeze and start is None:
        raise InvalidConfig(f"--freeze {freeze} alone", "--from RUN with it", "add --from RUN, whose layers are frozen")
    begun = None if start is None else commands.Start(start, freeze)
    request = commands.TrainRequest(method, backbone, epochs, seed, settings or [], begun)
    flags = commands.Flags(resume, overwrite, devices, precision, report, as_json)
    commands.train(dataset, request, {k: v for k, v in options.items() if v is not None}, out, data, flags)


@app.command()
def evaluate(
    run: RunFolder,
    source: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Another labelled file or dataset; default: the run's own.")
    ] = None,
    part: Annotated[str, typer.Option(help="Of the run's own data: train, validation or test.")] = "test",
    smiles: Smiles = None,
    label: Label = None,
    classes: Classes = None,
    map_labels: MapLabels = None,
    mix: Mix = None,
    weighted: Weighted = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Measure a run again, on its own data or on another file: accuracy, AUROC, ECE, NLL, Brier, Rationale F1."""
    from graphfnp.cli import commands

    options = {"smiles": smiles, "label": label, "classes": classes, "map_labels": map_labels}
    commands.evaluate_run(run, source, part, options, mix, weighted, data, as_json)


@app.command()
def predict(
    run: Models,
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...", help="SMILES, or a file of molecules (- is standard input), or a dataset's name."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write .csv, .parquet or .json instead of printing; - is CSV on standard output."
        ),
    ] = None,
    smiles: Smiles = None,
    draws: Annotated[int, typer.Option(min=1, help="Monte Carlo draws.")] = 32,
    seed: Seed = 0,
    level: Annotated[
        float, typer.Option(help="Share of rows whose true class the conformal sets should contain.")
    ] = 0.9,
    mix: Mix = None,
    weighted: Weighted = False,
    pick: Annotated[
        int | None,
        typer.Option(min=1, help="Output only this many rows: the most useful to test, diverse, best first."),
    ] = None,
    find: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Pick what may be of this class (of several models MODEL:CLASS); default: what would teach the model.",
        ),
    ] = None,
    max_atoms: Annotated[int, typer.Option(min=1, help="Refuse molecules with more atoms.")] = 1000,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes that read molecules; default: one for each processor."),
    ] = None,
    engine: Annotated[str, typer.Option(help="local, or ray (each worker has a copy of the model).")] = "local",
    address: Address = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard the parts of an interrupted run and start again.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a row fails.")] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write CSV texts unchanged, without an apostrophe before = + - @.")
    ] = False,
    drop_columns: Annotated[
        bool, typer.Option("--drop-columns", help="Leave the input's own columns out; default: they come first.")
    ] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Calibrated probabilities with their uncertainty, a row for each row of the input; bad rows keep their place.

    Rows are counted from 0: the first under the header of a file is row 0, and a blank line is a row. From file to file
    it works as a stream; if it is interrupted, the same command goes on where it stopped.
    """
    if find is not None and pick is None:
        raise InvalidConfig(f"--find {find} alone", "--pick N with it", "add --pick N, the number of rows")
    from graphfnp.chemistry.reading import reading_pool

    reading_pool().start()  # beside the imports of this process, which take longer
    from graphfnp.cli.predicting import Execution, PredictRequest, Settings, one_source, predict_rows, processes

    settings = Settings(draws, seed, level, most_atoms=max_atoms)
    execution = Execution(engine, processes() if workers is None else workers, address)  # type: ignore[arg-type]
    request = PredictRequest(
        one_source(source), out, smiles, settings, mix, execution, data, as_json, restart, strict, raw,
        not drop_columns, weighted, pick, find,
    )  # fmt: skip
    predict_rows(run, request)


@app.command()
def report(run: RunFolder, mix: Mix = None, data: DataFolder = None) -> None:
    """Write report.html of a run again, with every figure beside it."""
    from graphfnp.cli import commands

    commands.write_run_report(run, mix, data)


# In the order of the help: what is used first comes first, what only maintainers need last.
app.command("calibrate")(calibrate_run)
app.command()(rationales)
app.command()(explain)
app.command()(serve)
app.command()(export)
app.add_typer(data_app, name="data")
app.command()(table)
app.command()(bundle)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; errors a user can mend are printed without a traceback."""
    end_well_on_sigterm()
    with explained_errors():
        return app(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    main()
