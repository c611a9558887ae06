"""``graphfnp calibrate``: fit a run's calibration and conformal sets again, on labelled graphs of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.data import Classes, DataFolder, MapLabels


def calibrate_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, e.g. runs/demo.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Labelled graphs the model has not seen: a file, or a dataset's name; default: a threshold alone is "
            "fitted, on the run's validation part.",
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="soft (a temperature >= 1), temperature, vector, isotonic or none.")
    ] = "soft",
    conformal_share: Annotated[
        float, typer.Option(help="Share of the graphs held back for conformal sets alone; 0: they reuse all.")
    ] = 0.5,
    precision: Annotated[
        float | None, typer.Option(help="Of the class said: fits the threshold from which on it is said.")
    ] = None,
    cost_fp: Annotated[float | None, typer.Option(help="Of saying the class wrongly: fits a threshold.")] = None,
    cost_fn: Annotated[float | None, typer.Option(help="Of missing the class; goes with --cost-fp.")] = None,
    positive: Annotated[str | None, typer.Option(help="The class said; default: the second.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Copy the run there and leave RUN as it is; default: change RUN."),
    ] = None,
    smiles: Annotated[str | None, typer.Option(help="Column of the SMILES; default: as in training.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the labels; default: as in training.")] = None,
    classes: Classes = None,
    map_labels: MapLabels = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds, the share held back and the draws.")] = 0,
    data: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")] = False,
) -> None:
    """Make the probabilities and sets of a run right for your own graphs; says what it gains on graphs left out."""
    from graphfnp.cli import calibrating

    options = {"smiles": smiles, "label": label, "classes": classes, "map_labels": map_labels}
    wanted = (precision, cost_fp, cost_fn), positive
    if source is None:
        calibrating.fit_threshold(run, *wanted, out, seed, data, as_json)
    else:
        calibrating.calibrate_run(run, source, kind, conformal_share, *wanted, out, options, seed, data, as_json)
