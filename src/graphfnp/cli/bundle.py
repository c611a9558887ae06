"""``graphfnp bundle``: make a model that ships with the package again, from its data."""

from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.data import DataFolder


def bundle(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Which; default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; default: the package's own bundled models.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Folder of the trainings; interrupted ones go on.")] = Path("runs/bundles"),
    data: DataFolder = None,
) -> None:
    """Train the bundled models, round and measure them, decode their rationales, and write their cards."""
    import torch

    from graphfnp.cli.console import out as console
    from graphfnp.cli.console import training_progress
    from graphfnp.runs.bundles import FOLDER
    from graphfnp.runs.bundling import PLANS
    from graphfnp.runs.bundling import bundle as make
    from graphfnp.runs.card import card_text, model_card

    torch.set_num_threads(1)  # the same sums on every machine
    for name in names or list(PLANS):
        with training_progress() as watch:
            run = make(name, work, out or FOLDER, data, watch)
        size = sum(path.stat().st_size for path in run.folder.iterdir())
        console.print(card_text(model_card(run)), highlight=False, markup=False)
        console.print(f"{name}: {size / 1e6:.2f} MB in {run.folder}", highlight=False, markup=False)
