"""``graphfnp calibrate``: fit a run's calibration and conformal sets again, on labelled graphs of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.options import AsJson, Classes, DataFolder, Label, MapLabels, RunFolder, Smiles


def calibrate_run(
    run: RunFolder,
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
        float | None, typer.Option(help="Wanted precision of the --positive class; fits a decision threshold.")
    ] = None,
    cost_fp: Annotated[float | None, typer.Option(help="Cost of a false positive; fits a decision threshold.")] = None,
    cost_fn: Annotated[float | None, typer.Option(help="Cost of a false negative; needs --cost-fp.")] = None,
    positive: Annotated[str | None, typer.Option(help="Class to decide on; default: the second.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a calibrated copy there; default: change RUN itself."),
    ] = None,
    smiles: Smiles = None,
    label: Label = None,
    classes: Classes = None,
    map_labels: MapLabels = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds, the share held back and the draws.")] = 0,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Make the probabilities and sets of a run right for your own graphs; says what it gains on graphs left out."""
    from graphfnp.cli import calibrating

    options = {"smiles": smiles, "label": label, "classes": classes, "map_labels": map_labels}
    wanted = (precision, cost_fp, cost_fn)
    calibrating.calibrate_run(run, source, kind, conformal_share, wanted, positive, out, options, seed, data, as_json)
