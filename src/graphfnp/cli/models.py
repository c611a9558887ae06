"""Models as files: ``graphfnp export``, and ``graphfnp bundle`` for those that ship with the package."""

from pathlib import Path
from typing import Annotated

import typer

from graphfnp.cli.options import DataFolder


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or a panel, or a bundled model: bbbp.")],
    target: Annotated[Path, typer.Argument(metavar="FILE.zip", help="Archive to write.")],
    data: DataFolder = None,
) -> None:
    """Write a model with its card into a zip that every command opens in place of RUN; nothing in it is a program."""
    from graphfnp.cli.console import out, say
    from graphfnp.errors import InvalidConfig
    from graphfnp.runs.decoded import decoded_of_run
    from graphfnp.runs.panel import check_ending, open_panel
    from graphfnp.runs.panel import export as write

    check_ending(target)
    if target.exists():
        raise InvalidConfig(f"{target}, which exists", "a new file", "choose another name")
    for one in open_panel(run).values():
        if one.model.classifier.rationale_model is not None:
            decoded_of_run(one, data)  # kept in the run: who gets the model may not have the data for it
    digest = write(run, target)
    say(f"{target}  {target.stat().st_size / 1e6:.2f} MB  sha256 {digest}", console=out)


def bundle(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Models to bundle; default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write to; default: the package's bundled models.")
    ] = None,
    work: Annotated[Path, typer.Option(help="Folder of the training runs; interrupted runs continue.")] = Path(
        "runs/bundles"
    ),
    data: DataFolder = None,
) -> None:
    """Train the bundled models, round and measure them, decode their rationales, and write their cards."""
    import torch

    from graphfnp.cli.console import out as console
    from graphfnp.cli.console import say
    from graphfnp.cli.progress import training_progress
    from graphfnp.runs.bundles import FOLDER
    from graphfnp.runs.bundling import PLANS
    from graphfnp.runs.bundling import bundle as make
    from graphfnp.runs.card import card_text, model_card

    torch.set_num_threads(1)  # the same sums on every machine
    for name in names or list(PLANS):
        with training_progress() as watch:
            run = make(name, work, out or FOLDER, data, watch)
        size = sum(path.stat().st_size for path in run.folder.iterdir())
        say(card_text(model_card(run)), console=console)
        say(f"{name}: {size / 1e6:.2f} MB in {run.folder}", console=console)
