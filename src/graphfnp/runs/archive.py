"""Models as one file: numbers, JSON and a card in a zip, each file with its checksum, and nothing that runs."""

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from graphfnp.datasets.archives import unpack
from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidRun, MissingData
from graphfnp.files import atomic, read_json, write_json
from graphfnp.prediction.saving import MODEL_FILES
from graphfnp.rationales.store import DECODED
from graphfnp.runs.bundles import ARCHIVES, name_of
from graphfnp.runs.card import CARD, card_header, card_text, model_card
from graphfnp.runs.checkpoint import METRICS
from graphfnp.runs.run import CONFIG, EPOCHS, PANEL, SPLIT, Run

MANIFEST, FORMAT, README = "manifest.json", 1, "README.md"
OF_RUN = (CONFIG, SPLIT, EPOCHS, METRICS, *MODEL_FILES, DECODED)
KNOWN = {*OF_RUN, CARD, README, MANIFEST, PANEL}
OWN_ZIP = "unpack a zipped run folder, or export it: graphfnp export RUN FILE.zip"
_PLACE = re.compile(r"([\w-][\w.-]*/)?[\w-][\w.-]*")
_NAME = re.compile(r"[\w-][\w .-]*")
_TIME = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def write_archive(runs: dict[str, Run], target: Path) -> str:
    """The sha256 of the zip; several runs, by the folder of each, are a panel, which their PANEL file lists."""
    with tempfile.TemporaryDirectory(prefix="graphfnp-") as name:
        folder, alone = Path(name), list(runs) == [""]
        for place, run in runs.items():
            _copy(run, folder / place)
        if not alone:
            shutil.copy2(next(iter(runs.values())).folder.parent / PANEL, folder)
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        sums = {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files}
        first = next(iter(runs.values())).folder
        called = re.sub(r"[^\w .-]+", "-", (first if alone else first.parent).resolve().name).lstrip(" .") or "model"
        write_json(folder / MANIFEST, {"format": FORMAT, "name": called, "files": sums})
        with atomic(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in (MANIFEST, *files):
                packed.writestr(zipfile.ZipInfo(file, _TIME), (folder / file).read_bytes(), zipfile.ZIP_DEFLATED)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def _copy(run: Run, folder: Path) -> None:
    """What the model needs, its card, and no path of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in OF_RUN:
        if (run.folder / file).is_file():
            shutil.copy2(run.folder / file, folder)
    if (folder / CONFIG).is_file():
        plan, text = run.plan, json.dumps(read_json(folder / CONFIG))
        for place in (plan.dataset, plan.data_options.get("split"), plan.start and plan.start.run):
            named = PurePosixPath(str(place or "").replace("\\", "/")).name
            text = text.replace(json.dumps(str(place))[1:-1], json.dumps(named)[1:-1]) if named else text
        write_json(folder / CONFIG, json.loads(text))
    card = model_card(Run(folder)) | {"name": name_of(run.folder)}
    write_json(folder / CARD, card)
    (folder / README).write_text(card_header(card) + card_text(card), encoding="utf-8", errors="replace")


def opened(archive: Path) -> Path:
    """The folder of what is in the archive: unpacked once into the cache, every file as its checksum says."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    place = archives() / digest
    if not _is_whole(place, archive):
        if place.is_dir():  # somebody tidied up in the cache
            shutil.rmtree(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix="opening-") as name:
            folder = Path(name) / "model"
            try:
                _check_names(archive)
                unpack(archive, folder)
            except MissingData as error:
                raise InvalidRun(
                    error.given, "an archive that `graphfnp export` wrote", error.to_do or "ask for it again"
                ) from error
            called = _check(folder, archive)
            (Path(name) / digest).mkdir()
            folder.rename(Path(name) / digest / called)
            try:
                (Path(name) / digest).rename(place)
            except OSError:  # another process was quicker
                if not place.is_dir():
                    raise
    return next(place.iterdir())


def _is_whole(place: Path, archive: Path) -> bool:
    """Does the place hold what is in the archive?"""
    try:
        (folder,) = place.iterdir()
        return _check(folder, archive) == folder.name
    except (OSError, ValueError, InvalidRun):
        return False


def archives() -> Path:
    """Where archives are unpacked."""
    return cache_folder() / ARCHIVES


def _check_names(archive: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            names = packed.namelist()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise MissingData(f"{archive.name}: {error}", "a zip", "ask for it again") from error
    wrong = [name for name in names if not _PLACE.fullmatch(name) or name.rsplit("/", 1)[-1] not in KNOWN]
    if wrong or len(set(names)) < len(names):
        raise MissingData(f"{archive.name} with {wrong[0] if wrong else 'a file twice'!r}", "a model alone", OWN_ZIP)
    if MANIFEST not in names:
        raise MissingData(f"{archive.name} without {MANIFEST}", "a model alone", OWN_ZIP)


def _check(folder: Path, archive: Path) -> str:
    """The model's name, if the files are those of the manifest, to the byte."""
    manifest: Any = read_json(folder / MANIFEST, "give an archive that `graphfnp export` wrote")
    known = manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else {}
    called, sums = known.get("name"), known.get("files")
    if not isinstance(sums, dict) or not isinstance(called, str) or not _NAME.fullmatch(called):
        raise InvalidRun(f"{archive.name}: {MANIFEST}", f"a manifest of format {FORMAT}", "export the model again")
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    found.pop(MANIFEST)
    wrong = sorted(set(found) ^ set(sums))
    wrong += [name for name in found if sums.get(name) != hashlib.sha256(found[name].read_bytes()).hexdigest()]
    if wrong:
        raise InvalidRun(
            f"{archive.name}, whose {wrong[0]} is not the file that was exported",
            "every file as its checksum says",
            "copy the archive again from where it came",
        )
    return called
