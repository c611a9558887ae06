"""What a command is given: rows to predict or explain, labelled graphs of another file, and a label mix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.smiles import graphs_from_smiles, reads_smiles
from graphfnp.cli.console import note
from graphfnp.datasets.inputs import described
from graphfnp.datasets.load import check_table_options, is_name, load
from graphfnp.datasets.split import seen_before
from graphfnp.errors import InvalidConfig, InvalidGraphs, InvalidRun, MissingData, plural
from graphfnp.files import exists
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.label_mix import (
    ESTIMATE,
    assumed_mix,
    estimated_mix,
    for_mix,
    mix_words,
    models_for,
    read_mix,
)
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.provenance import data_hash
from graphfnp.runs.run import Run


@dataclass(frozen=True, eq=False)
class Rows:
    """What was read of an input: graphs, the row of each, the rows that are none, and the columns beside them.

    Rows are counted from 0, as in every record; the header of a file is no row, a blank line is one.
    """

    graphs: PackedGraphs | None
    rows: list[int]
    problems: tuple[Problem, ...] = ()
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows) + len(self.problems)

    def without_larger(self, most_atoms: int) -> "Rows":
        """Molecules of more atoms are refused, as the stream does; graphs that are none may have any size."""
        graphs, rows = self.graphs, self.rows
        if graphs is None or graphs.text is None or not reads_smiles(graphs.schema):
            return self
        given = graphs.text if graphs.origin is None else [one.given for one in graphs.origin]
        suspects = [g for g, text in enumerate(given) if len(text) > most_atoms]  # an atom takes a letter or more
        reasons = {g: read_molecule(given[g], most_atoms) for g in suspects}
        refused = {g: Problem(rows[g], given[g], why) for g, why in reasons.items() if isinstance(why, str)}
        if not refused:
            return self
        kept = [one for one in range(len(graphs)) if one not in refused]
        chosen = graphs.select(torch.tensor(kept, dtype=torch.long))
        return replace(
            self, graphs=chosen, rows=[rows[one] for one in kept], problems=(*self.problems, *refused.values())
        )


def read_input(source: str, schema: Schema, data: Path | None, seed: int, smiles: str | None) -> Rows:
    """Rows of SMILES (one a line), a file or a dataset's name, written as a model of this schema knows them."""
    if reads_smiles(schema) and not exists(source) and not is_name(source):
        graphs, rows, problems = graphs_from_smiles(source.split("\n"), schema=schema)
        if graphs is not None or not Path(source).suffix[1:].isalpha():  # CC.O is a SMILES, absent.csv is a file
            return Rows(graphs, rows.tolist(), problems)
    if not reads_smiles(schema) and not exists(source) and not is_name(source):
        raise MissingData(
            f"{source!r}, which does not exist",
            "a file, folder or dataset of graphs: the model knows graphs, and reads no SMILES",
            "check the spelling",
        )
    loaded = load(  # whatever its parts are called, all of them are asked for; so below
        source, data=data, seed=seed, split="random", smiles=smiles, allow_unlabelled=True,
        standardise=schema.standardise, features=schema.descriptors,
    )  # fmt: skip
    own = list(range(len(loaded.graphs))) if loaded.rows is None else loaded.rows.tolist()
    if schema.has_atom_features or not reads_smiles(schema) or not loaded.graphs.schema.has_atom_features:
        return Rows(loaded.graphs, own, loaded.problems, loaded.columns)
    graphs, rows, problems = graphs_from_smiles(loaded.graphs.text or (), schema=schema)
    refused = tuple(Problem(own[one.row], one.given, one.reason) for one in problems)
    return Rows(graphs, [own[row] for row in rows.tolist()], (*loaded.problems, *refused), loaded.columns)


def check_no_source_needed(given: Mapping[str, Any]) -> None:
    """InvalidConfig if one of the options is given (not None): they say how to read or use DATA, and there is none."""
    if named := [name for name, value in given.items() if value is not None]:
        option = named[0].replace("_", "-")
        raise InvalidConfig(
            f"--{option} {given[named[0]]} without DATA", "labelled graphs it is for", "give DATA too, or leave it out"
        )


def unseen_graphs(
    run: Run, source: str, options: Mapping[str, Any], data: Path | None, seed: int
) -> tuple[PackedGraphs, str]:
    """The graphs the model was not trained on, in its schema, and a sentence on the others; none: an empty one.

    Columns and labels are called as in training, unless ``options`` say otherwise.
    """
    check_table_options(source, options)
    own, columns = run.plan.data_options, ("smiles", "label", "standardise", "features")
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    chosen |= {name: own[name] for name in columns if name in own and name not in chosen}
    loaded = load(source, data=data, seed=seed, split="random", **chosen)
    for one in loaded.facts.get("notes", "").splitlines():
        note(one)
    if loaded.problems:
        note(f"{described(loaded.problems)}: left out")
    graphs, known = loaded.graphs, run.model.provenance
    if graphs.text is None and known is not None and known.data_sha256 == data_hash(graphs):  # none is known by name
        raise InvalidGraphs(
            f"{source}, whose graphs are those of the run: its training part is among them",
            "graphs that were not in training",
            "leave it out to measure the run's own test part",
        )
    graphs = matching(graphs, run.model.classifier.schema)
    seen = seen_before(graphs, _trained_on(run, data))
    count = int(seen.sum())
    if not count:
        return graphs, ""
    if count == len(graphs):
        raise InvalidGraphs(
            f"{source}, whose {plural(count, 'graph')} are all among those the model was trained on",
            "graphs that were not in training",
            "give other graphs: accuracy on training graphs is too optimistic",
        )
    return graphs.select((~seen).nonzero()[:, 0]), f"{count} of {len(graphs)} graphs were trained on"


def _trained_on(run: Run, data: Path | None) -> Sequence[str]:
    """Texts of the training graphs: of the run's own data if they are here, else those kept with the model."""
    try:
        texts = run.dataset(data).train.text
    except (MissingData, InvalidRun, OSError):
        texts = None
    return texts or (run.model.domain and run.model.domain.text) or ()


def model_for_mix(model: TrainedModel, mix: str | None, graphs: PackedGraphs | None = None) -> TrainedModel:
    """The model for the label mix a user asks for; ``graphs`` are those whose mix may be estimated."""
    if mix is None:
        return model
    names, usual = model.classifier.schema.class_names, assumed_mix(model)
    if mix == ESTIMATE and graphs is not None:
        return for_mix(model, estimated_mix(model, predict(model, graphs)))
    return for_mix(model, read_mix(mix, names, usual or [1 / len(names)] * len(names)))


def models_for_mix(models: Mapping[str, TrainedModel], mix: str) -> dict[str, TrainedModel]:
    """Each for the label mix; of several, shares of classes go to those that have all of these classes."""
    fitting = models_for(mix, {name: model.classifier.schema.class_names for name, model in models.items()})
    return {name: model_for_mix(model, mix) if name in fitting else model for name, model in models.items()}


def mix_line(model: TrainedModel) -> str:
    """What the probabilities assume, with the names of the classes."""
    return f"probabilities are for this label mix: {mix_words(assumed_mix(model), model.classifier.schema.class_names)}"
