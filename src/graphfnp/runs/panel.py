"""Panels: several models that are asked together, by name: "bbbp,mutagenicity,runs/mine", or a folder of runs."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.files import exists, read_json, write_json
from graphfnp.prediction.predict import TrainedModel
from graphfnp.runs.bundles import name_of, open_run, unpacked
from graphfnp.runs.run import PANEL, Run

FORMAT = 1


def is_panel(place: Path | str) -> bool:
    """Does it name several models?"""
    return (unpacked(place) / PANEL).is_file() if exists(place) else "," in str(place)


def open_panel(place: Path | str) -> dict[str, Run]:
    """The runs by name, in order; one of a folder or a bundled model by itself is a panel of one."""
    found: dict[str, Run] = {}
    for one in [str(place)] if exists(place) else [part.strip() for part in str(place).split(",")]:
        if not one:
            raise InvalidRun(f"{str(place)!r}, in which a name is empty", "models with commas between", "check them")
        folder = unpacked(one)
        runs = _listed(folder) if (folder / PANEL).is_file() else {name_of(folder): open_run(folder)}
        if taken := [name for name in runs if name in found]:
            raise InvalidConfig(f"two models called {taken[0]}", "a name for each", "rename a folder")
        found |= runs
    return found


def load_panel(place: Path | str) -> dict[str, TrainedModel]:
    """The models of a panel by name; :func:`graphfnp.scoring.score_file.score_file` takes this dictionary."""
    return {name: run.model for name, run in open_panel(place).items()}


def endpoint_folders(labels: Sequence[str]) -> dict[str, str]:
    """A folder for each endpoint, by a name that file systems take; InvalidConfig if two would share one."""
    folders = {label: re.sub(r"[^\w.-]+", "-", label).strip(".-") or "endpoint" for label in labels}
    if not all(labels) or len({folder.lower() for folder in folders.values()}) < len(labels):
        raise InvalidConfig(
            f"endpoints {', '.join(labels)}", "different names, none of them empty", "rename a column, or name it once"
        )
    return folders


def write_panel(folder: Path, folders: Mapping[str, str]) -> None:
    """Make the folder a panel of the runs in it."""
    write_json(folder / PANEL, {"format": FORMAT, "endpoints": dict(folders)})


def export(place: Path | str | TrainedModel, target: Path | str) -> str:
    """Write a model, run, bundled model or panel as a zip that every command and ``load_model`` opens; its sha256."""
    from graphfnp.runs.archive import write_archive

    target = Path(target)
    check_ending(target)
    if isinstance(place, TrainedModel):
        with tempfile.TemporaryDirectory(prefix="graphfnp-") as name:
            folder = Path(name) / endpoint_folders([target.stem])[target.stem]  # the model is called after it
            place.save(folder)
            return export(folder, target)
    if not exists(place) and is_panel(place):
        raise InvalidConfig(f"{place}", "one model, or a folder that is a panel", "export each by itself")
    if not is_panel(place):
        return write_archive({"": open_run(place)}, target)
    return write_archive({run.folder.name: run for run in open_panel(place).values()}, target)


def check_ending(target: Path) -> None:
    """InvalidConfig unless it is called as the archives are."""
    if target.suffix != ".zip":
        raise InvalidConfig(f"{target}", "a file that ends in .zip", "change the ending")


def _listed(folder: Path) -> dict[str, Run]:
    record: Any = read_json(folder / PANEL)
    endpoints = record.get("endpoints") if isinstance(record, dict) and record.get("format") == FORMAT else None
    if (
        not isinstance(endpoints, dict)
        or not endpoints
        or not all(endpoints)
        or not all(map(_is_name, endpoints.values()))
    ):
        raise InvalidRun(f"{folder / PANEL}", f"a panel of format {FORMAT}: endpoints and their folders", "train again")
    return {name: open_run(folder / place) for name, place in endpoints.items()}


def _is_name(place: Any) -> bool:
    """A folder beside the list, and none elsewhere."""
    return isinstance(place, str) and bool(re.fullmatch(r"[\w-][\w.-]*", place))
