"""Decoded rationales kept beside a model: what galleries and explanations need, so that they need no training data."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from graphfnp.datasets.dataset import Dataset
from graphfnp.files import read_tensors, write_tensors
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predict import TrainedModel
from graphfnp.rationales.config import DecodingConfig, decoding_for
from graphfnp.rationales.evidence import data_evidence
from graphfnp.rationales.find import find_rationales
from graphfnp.rationales.measures import rationale_measures
from graphfnp.rationales.records import rationale_records, sentence

REVISION = 3  # counted up when decoding, ranking or records change, so that what is kept is made anew
DECODED = "decoded.safetensors"
FIELDS = ("x", "edge_index", "node_ptr", "edge_ptr", "y", "edge_attr", "node_type", "descriptors")
NUMBERS = ("class_probability", "similarity", "log_odds")


@dataclass(frozen=True, eq=False)
class DecodedRationales:
    """Rationales with their structures, what the data said of them, and the training graphs they name."""

    rationales: Rationales
    records: list[dict[str, Any]]  # as in rationales.json; "example" of the nearest counts in ``examples``
    examples: PackedGraphs | None  # the nearest training graphs; None: decoded without data


def decode(
    model: TrainedModel,
    dataset: Dataset | None,
    config: DecodingConfig | None = None,
    seed: int = 0,
    others: Sequence[Rationales] = (),
) -> DecodedRationales:
    """Find the rationales of a model; with its dataset also their evidence there."""
    schema = model.classifier.schema
    train = None if dataset is None else dataset.train
    found = find_rationales(model, config or decoding_for(schema), seed, train)
    evidence = [] if dataset is None or train is None else data_evidence(model, found, train, dataset.test)
    each: list[dict[str, float | None]] = []
    whole: dict[str, float] = {}
    if dataset is not None and len(dataset.split.test):
        each, whole = rationale_measures(model, found, dataset.test, seed)
    records = rationale_records(found, schema, evidence, others, each, whole)
    named = sorted({near["graph"] for record in records for near in record.get("nearest", ())})
    place = {graph: k for k, graph in enumerate(named)}
    for record in records:
        for near in record.get("nearest", ()):
            near["example"] = place[near["graph"]]
    return DecodedRationales(found, records, None if train is None else train.select(named))


def save_decoded(decoded: DecodedRationales, folder: Path, key: Mapping[str, Any]) -> None:
    """One file: graphs and continuous features as tensors, all else as JSON in its header."""
    rationales, examples = decoded.rationales, decoded.examples
    tensors: dict[str, Tensor] = {}
    structures = []
    for number, structure in enumerate(rationales.structures):
        if structure is not None and structure.x is not None:
            tensors[f"x.{number}"] = structure.x
        structures.append(None if structure is None else _structure_record(structure))
    tensors |= {name: value for name in NUMBERS if (value := getattr(rationales, name)) is not None}
    if examples is not None:
        fields = {name: getattr(examples, name) for name in FIELDS}
        tensors |= {f"examples.{name}": value for name, value in fields.items() if value is not None}
    record = {
        "key": key,
        "structures": structures,
        "source": rationales.source,
        "records": decoded.records,
        "text": None if examples is None else examples.text,
    }
    write_tensors(folder / DECODED, tensors, record)


def kept_key(folder: Path) -> Mapping[str, Any]:
    """The key that something was kept under: rationales of another model do not fit this one's."""
    return read_tensors(folder / DECODED)[1]["key"]


def load_decoded(folder: Path, model: TrainedModel) -> tuple[DecodedRationales, Mapping[str, Any]]:
    """What was kept, and the key it was kept under."""
    tensors, record = read_tensors(folder / DECODED)
    schema = model.classifier.schema
    own = with_rationales(model.classifier).rationales()
    structures = tuple(_structure(one, tensors.get(f"x.{k}")) for k, one in enumerate(record["structures"]))
    numbers = {name: tensors.get(name) for name in NUMBERS}
    rationales = dataclasses.replace(own, structures=structures, source=tuple(record["source"]), **numbers)  # type: ignore[arg-type]
    examples = _examples(tensors, schema, record["text"]) if "examples.x" in tensors else None
    # In the words of now: those of an earlier version may be kept.
    records = [{**one, "sentence": sentence(one)} if "train" in one else one for one in record["records"]]
    return DecodedRationales(rationales, records, examples), record["key"]


def _structure_record(structure: Structure) -> dict[str, Any]:
    """Cut bonds are called "open" in files, as they were when the first of them was written."""
    record = {name: value for name, value in vars(structure).items() if name != "x"}
    record["open"] = record.pop("cut_bonds")
    return record


def _structure(record: Mapping[str, Any] | None, x: Tensor | None) -> Structure | None:
    if record is None:
        return None
    fields = {name: tuple(tuple(one) if isinstance(one, list) else one for one in v) for name, v in record.items()}
    return Structure(cut_bonds=fields.pop("open", ()), **fields, x=x)  # type: ignore[arg-type]


def _examples(tensors: Mapping[str, Tensor], schema: Schema, text: Sequence[str] | None) -> PackedGraphs:
    fields = {name: tensors.get(f"examples.{name}") for name in FIELDS}
    return PackedGraphs.build(**fields, schema=schema, text=text)  # type: ignore[arg-type]
