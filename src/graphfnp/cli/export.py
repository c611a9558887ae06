"""``graphfnp export``: a model as one file."""

from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.data import DataFolder


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or a panel, or a bundled model: bbbp.")],
    target: Annotated[Path, typer.Argument(metavar="FILE.zip", help="What to write.")],
    data: DataFolder = None,
) -> None:
    """Write a model with its card into a zip that every command opens in place of RUN; nothing in it is a program."""
    from graphfnp.cli.console import out
    from graphfnp.errors import InvalidConfig
    from graphfnp.runs.decoded import decoded_of_run
    from graphfnp.runs.panel import export as write
    from graphfnp.runs.panel import open_panel

    if target.exists():
        raise InvalidConfig(f"{target}, which exists", "a new file", "choose another name")
    for one in open_panel(run).values():
        if one.model.classifier.rationale_model is not None:
            decoded_of_run(one, data)  # kept in the run: who gets the model may not have the data for it
    digest = write(run, target)
    out.print(f"{target}  {target.stat().st_size / 1e6:.2f} MB  sha256 {digest}", highlight=False, markup=False)
