"""Models that ship with the package: a name stands for a run folder where no folder of that name exists."""

from pathlib import Path

from graphfnp.errors import InvalidRun
from graphfnp.runs.run import CONFIG, Run

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


def is_bundled(run: Run) -> bool:
    """Is the run part of the installed package, and hence not to be written to?"""
    return run.folder.parent == FOLDER


def own_folder(run: Run) -> Path:
    """Where pages about a run go: into it, but never into the installed package."""
    return Path("runs") / run.folder.name if is_bundled(run) else run.folder
