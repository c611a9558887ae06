"""Options that several commands have, each said once."""

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run, or a bundled model: bbbp.")]
Models = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="Folder of a run, or a bundled model; several with commas: bbbp,mutagenicity."),
]
Smiles = Annotated[str | None, typer.Option(help="Column of the SMILES; default: found by name, or as in training.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels; default: as in training.")]
Classes = Annotated[
    str | None,
    typer.Option(help="Labels to use, in this order: inactive,active. Rows with other labels are left out."),
]
MapLabels = Annotated[
    str | None,
    typer.Option(help="Rename labels: 'Active=active,n.d.='; rows of a label with nothing after = are left out."),
]
Mix = Annotated[
    str | None,
    typer.Option(
        "--mix", "--prior", metavar="MIX",
        help="Class frequencies among these graphs: training (as in the training data, the default), even, CLASS=0.2 "
        "or estimate (from the predictions, without labels).",
    ),
]  # fmt: skip
Weighted = Annotated[
    bool, typer.Option("--weighted", help="Conformal sets weighted for these graphs, if unlike the held-out ones.")
]
Candidates = Annotated[int, typer.Option(help="Structures drawn from the decoder for each rationale.")]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Folder to write to; default: in the run's own.")]
DataFolder = Annotated[Path | None, typer.Option("--data", help="Folder with the files; default: GRAPHFNP_DATA.")]
Address = Annotated[str | None, typer.Option(help="Address of a Ray cluster; default: Ray on this machine.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
