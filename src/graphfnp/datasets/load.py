"""The verb ``load``: a name, a path or graphs in memory become a Dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import networkx as nx
from torch_geometric.data import Data
from torch_geometric.data import Dataset as PyGDataset

from graphfnp.datasets.catalogue import CATALOGUE, Entry
from graphfnp.datasets.dataset import Dataset, Split
from graphfnp.datasets.forms import Form, Reading, public_form
from graphfnp.datasets.sources import located, obtained, sha256_of
from graphfnp.datasets.split_choice import chosen_split, thinned
from graphfnp.datasets.tu import read_tu
from graphfnp.errors import InvalidConfig, MissingData
from graphfnp.graphs import PackedGraphs
from graphfnp.pyg import from_data_list, from_dataset, from_networkx

TABLES = (".csv", ".tsv", ".txt", ".smi", ".parquet", ".pq")
LIMITED_BY_READER = "sst2"  # where reading all would cost minutes of encoding


@dataclass(frozen=True, eq=False)
class Found:
    """What a source turned out to be."""

    name: str
    reading: Reading
    split: str | Path | Split = "random"
    facts: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Sequence[object]] | None = None


def load(
    source: Any,
    *,
    data: str | Path | None = None,
    seed: int = 0,
    split: str | Path | Split | None = None,
    smiles: str | None = None,
    label: str | None = None,
    labels: Sequence[int | str] | None = None,
    class_names: Sequence[str] | None = None,
    limit: int | None = None,
    keep_duplicates_together: bool = False,
    download: bool = True,
) -> Dataset:
    """Graphs with their split, from nearly anything.

        load("bbbp")                     a name of the catalogue; also "tu:PROTEINS", "moleculenet:clintox"
        load("my.csv", smiles="s", label="y")     .csv .tsv .parquet .smi .sdf, a TU folder or zip
        load([Data(...), ...])           graphs of PyG or NetworkX, a PyG dataset, PackedGraphs

    ``data`` is the folder with the files (default: GRAPHFNP_DATA); ``split`` is random, scaffold, balanced_scaffold,
    degree_shift, column:NAME, a saved split or a Split. ``limit`` keeps that many graphs of each part: evenly spaced,
    or for sst2 the first dense (train and validation) and the first sparse (test) ones.
    """
    if isinstance(source, Dataset):
        return source
    found = (
        _from_text(source, data, smiles, label, class_names, limit, download)
        if isinstance(source, str | Path)
        else _from_memory(source, labels, class_names)
    )
    graphs = found.reading.graphs
    chosen = chosen_split(graphs, split or found.split, seed, keep_duplicates_together, found.columns)
    if limit is not None and found.name != LIMITED_BY_READER:
        chosen = thinned(chosen, limit)
    notes = {"notes": "; ".join(found.reading.notes)} if found.reading.notes else {}
    return Dataset(
        found.name, graphs, chosen, found.reading.problems, found.reading.rows, facts={**found.facts, **notes}
    )


def fetch(name: str, *, data: str | Path | None = None) -> Path | None:
    """Bring the files of a named dataset; where they are, or None for one that is generated."""
    entry = CATALOGUE.get(name.removesuffix(":public"))
    if entry is not None and entry.generate is not None and not name.endswith(":public"):
        return None
    forms = entry.forms if entry is not None else (_public_form(name),)
    return _obtained(forms, data, download=True)[1]


# ------------------------------------------------------------------------ names and paths


def _from_text(
    source: str | Path,
    data: str | Path | None,
    smiles: str | None,
    label: str | None,
    class_names: Sequence[str] | None,
    limit: int | None,
    download: bool,
) -> Found:
    name = str(source)
    if isinstance(source, str) and (entry := CATALOGUE.get(name.removesuffix(":public"))):
        return _from_catalogue(entry, name, data, limit, download)
    if isinstance(source, str) and name.startswith(("tu:", "moleculenet:")):
        form, place = _obtained((_public_form(name, label),), data, download)
        return Found(name, form.read(place, limit), facts=_origin(place, form))
    path = Path(source).expanduser()
    if not path.exists():
        close = get_close_matches(name.lower(), CATALOGUE, n=1)
        raise MissingData(
            f"{name!r}, which is no known name and no path that exists",
            f"one of {', '.join(CATALOGUE)}, tu:NAME, moleculenet:NAME, or a file",
            f"did you mean {close[0]}?" if close else "check the spelling",
        )
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if path.is_dir() or suffix == ".zip":
        inner = path / "raw" if (path / "raw").is_dir() and not list(path.glob("*_graph_indicator.txt*")) else path
        return Found(path.stem, Reading(*read_tu(inner)), facts={"origin": path.name})
    return _from_file(path, suffix, smiles, label, class_names)


def _from_catalogue(entry: Entry, name: str, data: str | Path | None, limit: int | None, download: bool) -> Found:
    if entry.generate is not None and not name.endswith(":public"):
        return Found(name, Reading(entry.generate()), entry.split, {**entry.facts, "origin": "generated"})
    form, place = _obtained(entry.forms, data, download)
    return Found(name, form.read(place, limit), entry.split, {**entry.facts, **_origin(place, form)})


def _public_form(name: str, label: str | None = None) -> Form:
    if not name.startswith(("tu:", "moleculenet:")):
        raise InvalidConfig(f"{name!r}", f"one of {', '.join(CATALOGUE)}, tu:NAME, moleculenet:NAME", "choose a name")
    return public_form(name, label)


def _obtained(forms: Sequence[Form], data: str | Path | None, download: bool) -> tuple[Form, Path]:
    """The first form that is here; else the first that can be fetched."""
    for form in forms:
        if (place := located(form.files, data)) is not None:
            return form, place
    failures = []
    for form in forms:
        try:
            return form, obtained(form.files, data, download)
        except MissingData as error:
            failures.append(error)
    raise failures[0]


def _origin(place: Path, form: Form) -> dict[str, str]:
    facts = {"origin": form.files.url or form.files.home or place.name}
    files = [place] if place.is_file() else [place / name for name in form.files.names if (place / name).is_file()]
    return facts | {f"sha256 of {file.name}": sha256_of(file) for file in files}


def _from_file(
    path: Path, suffix: str, smiles: str | None, label: str | None, class_names: Sequence[str] | None
) -> Found:
    raise InvalidConfig(f"{path.name}", "a TU folder or zip", "tables come next")


# ------------------------------------------------------------------------ graphs in memory


def _from_memory(source: Any, labels: Sequence[int | str] | None, class_names: Sequence[str] | None) -> Found:
    if isinstance(source, PackedGraphs):
        return Found("graphs", Reading(source))
    if isinstance(source, PyGDataset):
        return Found(getattr(source, "name", type(source).__name__), Reading(from_dataset(source, class_names)))
    if isinstance(source, Sequence) and source and all(isinstance(item, nx.Graph) for item in source):
        return Found("graphs", Reading(from_networkx(source, labels, class_names)))
    if isinstance(source, Sequence) and source and all(isinstance(item, Data) for item in source):
        return Found("graphs", Reading(from_data_list(source, class_names)))
    raise InvalidConfig(
        f"{type(source).__name__}",
        "a name, a path, PackedGraphs, a PyG dataset, or a list of PyG Data or NetworkX graphs",
        "convert the graphs to one of these",
    )
