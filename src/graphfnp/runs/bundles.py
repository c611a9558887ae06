"""Models that ship with the package: a name stands for a run folder where no folder of that name holds a run."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidRun
from graphfnp.files import exists
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.runs import checkpoint
from graphfnp.runs.run import CONFIG, PANEL, Run

if TYPE_CHECKING:
    import torch

FOLDER = Path(__file__).parent.parent / "bundled"
ARCHIVES = "models"  # in the cache: where archives are unpacked


def bundled_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in FOLDER.glob(f"*/{CONFIG}")))


def open_run(place: Path | str) -> Run:
    """The run in a folder or in an archive of `graphfnp export`, else the bundled model of that name."""
    place = unpacked(place)
    if str(place) in bundled_names() and not any(exists(place / file) for file in (CONFIG, MODEL_RECORD)):
        return Run(FOLDER / place)  # also beside a folder of data of that name
    if exists(place / PANEL):
        runs = ", ".join(sorted(str(one.parent) for one in place.glob(f"*/{CONFIG}")))
        raise InvalidRun(f"{place}, which is a panel of several models", f"one of them: {runs}", "give its folder")
    if exists(place):
        return Run(place)
    raise InvalidRun(
        f"{place}, which is not a folder",
        "a run folder, an archive that `graphfnp export` wrote, or a bundled model: "
        + (", ".join(bundled_names()) or "none is installed"),
        "give the folder that `graphfnp train` wrote, e.g. runs/demo",
    )


def unpacked(place: Path | str) -> Path:
    """The folder of an archive; any other place as it is."""
    place = Path(place)
    if place.suffix.lower() != ".zip" or not exists(place) or place.is_dir():
        return place
    from graphfnp.runs.archive import opened  # few runs come in one

    return opened(place)


def load_model(place: Path | str, backbone: "torch.nn.Module | None" = None) -> TrainedModel:
    """The model in a folder (of a run, or that ``model.save`` wrote), or the bundled one of that name, e.g. "bbbp".

    ``backbone`` must be given if the model was trained with your own module.
    """
    if backbone is not None:
        return checkpoint.load_model(unpacked(place), backbone)
    return open_run(place).model


def name_of(folder: Path) -> str:
    """What a folder is called, also one given as "." or ".."; a link has its own name."""
    return Path(os.path.abspath(folder)).name


def is_bundled(run: Run) -> bool:
    """Is the run part of the installed package or of an archive, and hence not to be written to?"""
    return run.folder.parent == FOLDER or cache_folder() / ARCHIVES in run.folder.parents


def own_folder(run: Run) -> Path:
    """Where pages about a run go: into it, but never into the installed package."""
    return Path("runs") / run.folder.name if is_bundled(run) else run.folder
