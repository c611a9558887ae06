"""Models that ship with the package: a name stands for a run folder where no folder of that name exists."""

from pathlib import Path
from typing import TYPE_CHECKING

from graphfnp.errors import InvalidRun
from graphfnp.prediction.predict import TrainedModel
from graphfnp.runs import checkpoint
from graphfnp.runs.run import CONFIG, Run

if TYPE_CHECKING:
    import torch

FOLDER = Path(__file__).parent.parent / "bundled"


def bundled_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{CONFIG}")))


def open_run(place: Path | str) -> Run:
    """The run in a folder, else the bundled model of that name."""
    place = Path(place)
    if place.exists():
        return Run(place)
    if str(place) in bundled_names():
        return Run(FOLDER / place)
    raise InvalidRun(
        f"{place}, which is no folder",
        f"a run folder, or a bundled model: {', '.join(bundled_names()) or 'none is installed'}",
        "give the folder that `graphfnp train` wrote, e.g. runs/demo",
    )


def load_model(place: Path | str, backbone: "torch.nn.Module | None" = None) -> TrainedModel:
    """The model in a folder (of a run, or that ``model.save`` wrote), or the bundled one of that name, e.g. "bbbp".

    ``backbone`` is needed again where it was a module of the user's own.
    """
    if backbone is not None:
        return checkpoint.load_model(place, backbone)
    return open_run(place).model


def is_bundled(run: Run) -> bool:
    """Is the run part of the installed package, and hence not to be written to?"""
    return run.folder.parent == FOLDER


def own_folder(run: Run) -> Path:
    """Where pages about a run go: into it, but never into the installed package."""
    return Path("runs") / run.folder.name if is_bundled(run) else run.folder
