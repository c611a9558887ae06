"""The model behind the service: rows in, records and explanations out; everything here runs in one thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from graphfnp.chemistry.molecule_arrays import joined
from graphfnp.chemistry.smiles import packed, reads_smiles
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.descriptors import columns_in
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.label_mix import (
    ESTIMATE,
    FEWEST_GRAPHS,
    TRAINING,
    assumed_mix,
    estimated_mix,
    for_mix,
    moved_to_mix,
    read_mix,
)
from graphfnp.prediction.pick import class_number, pick
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.records import prediction_records
from graphfnp.prediction.shift import weighted_for
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.store import DecodedRationales
from graphfnp.report.explanation_page import explanation_records
from graphfnp.runs.card import model_card
from graphfnp.runs.run import Run
from graphfnp.service.batching import Kind
from graphfnp.service.config import ServiceConfig
from graphfnp.service.model_answers import ServiceLimits
from graphfnp.service.reading import ReadRow
from graphfnp.service.wire import RowsRequest, graph_to_json

PREDICT, EXPLAIN = "predict", "explain"
EXPLAINED_ROWS = 4  # in a batch: they cost more
EXAMPLES = 6
MOST_TOGETHER = 512  # rows of a request that is answered as a whole: they are one batch, for which the others wait
_numbers = count(1)


@dataclass(frozen=True, eq=False)
class Engine:
    """A run's model with its decoded rationales; ``decoded`` is None if the method has none."""

    run: Run
    decoded: DecodedRationales | None
    config: ServiceConfig

    @property
    def model(self) -> TrainedModel:
        return self.run.model

    @property
    def reads_smiles(self) -> bool:
        return reads_smiles(self.model.classifier.schema)

    def kind(self, name: str, request: RowsRequest) -> Kind:
        """What a request may share a batch with; InvalidConfig if it names no label mix or no class."""
        names, mix, find = self.model.classifier.schema.class_names, request.mix, None
        if request.find is not None:
            find = class_number(request.find, names)
        most = min(EXPLAINED_ROWS, self.config.batch_rows) if name == EXPLAIN else self.config.batch_rows
        alone = next(_numbers) if request.is_whole else 0
        told: tuple[float, ...] | str | None = ESTIMATE if mix == ESTIMATE else None
        if mix not in (None, TRAINING, ESTIMATE):
            told = read_mix(mix, names, assumed_mix(self.model) or [1 / len(names)] * len(names))
        rows = len(request.rows) if alone else most
        return Kind(name, request.level, rows, told, alone, request.weighted, request.pick, find)

    def work(self, kind: Kind, rows: Sequence[ReadRow]) -> list[dict[str, Any]]:
        """A record for each row; with an explanation if it is asked for, and among picks with its ``pick``."""
        good = [number for number, row in enumerate(rows) if row.arrays is not None]
        problems = [Problem(number, row.given, row.reason) for number, row in enumerate(rows) if row.arrays is None]
        graphs = None if not good else self.graphs([rows[number] for number in good])
        model = self.model if graphs is None or not kind.weighted else weighted_for(self.model, graphs)
        predictions = None if graphs is None else predict(model, graphs)
        mix = self._estimated(predictions) if isinstance(kind.mix, str) else kind.mix
        if mix is not None and predictions is not None:
            model, predictions = moved_to_mix(model, predictions, mix)
        model = for_mix(model, mix)
        records = prediction_records(model, predictions, graphs, good, problems, kind.level)
        shared = {"mix": assumed_mix(model), "sets": None if model.conformal is None else model.conformal.guarantee}
        explanation = {"explanation": None} if kind.name == EXPLAIN else {}
        records = [{**record, **shared, **explanation} for record in records]
        if kind.pick is not None:
            if graphs is None or predictions is None:
                raise InvalidGraphs("no readable row", f"{kind.pick} rows to pick", "send more")
            for rank, graph in enumerate(pick(predictions, graphs, kind.pick, kind.find).tolist(), 1):
                records[good[graph]]["pick"] = rank
        if kind.name == EXPLAIN and graphs is not None and self.decoded is not None:
            for number, explained in zip(good, self._explanations(graphs, self.decoded), strict=True):
                records[number]["explanation"] = explained
        return records

    def _estimated(self, predictions: Predictions | None) -> tuple[float, ...]:
        found = 0 if predictions is None else len(predictions)
        if predictions is None or found < FEWEST_GRAPHS:
            raise InvalidGraphs(
                f"{found} readable rows", f"at least {FEWEST_GRAPHS} to estimate a label mix", "send more"
            )
        return estimated_mix(self.model, predictions)

    def named_mix(self, mix: Sequence[float] | None) -> dict[str, float] | None:
        """Shares by class; None for a model that does not know what it assumes."""
        names = self.model.classifier.schema.class_names
        return None if mix is None else {name: round(share, 6) for name, share in zip(names, mix, strict=True)}

    def graphs(self, rows: Sequence[ReadRow]) -> PackedGraphs:
        """Rows that were read, side by side."""
        arrays = joined([row.arrays for row in rows if row.arrays is not None])
        labels = torch.full((len(rows),), UNLABELLED)
        return packed(arrays, labels, self.model.classifier.schema, [row.given for row in rows])

    def _explanations(self, graphs: PackedGraphs, decoded: DecodedRationales) -> list[dict[str, Any]]:
        found = explain_by_rationales(self.model, decoded.rationales, graphs)
        shown = ("correlation", "rationales", "unreached", "leans_on", "edges")
        return [{name: record[name] for name in shown} for record in explanation_records(found, decoded.rationales)]

    # ---------------------------------------------------------------- what does not change

    def sample_records(self) -> list[dict[str, Any]]:
        """What /explain says of the first example; nothing where there is none."""
        if self.decoded is None or self.decoded.examples is None:
            return []
        graphs = self.decoded.examples.select(torch.tensor([0]))
        records = prediction_records(self.model, predict(self.model, graphs), graphs, [0], [])
        return [{**records[0], "explanation": self._explanations(graphs, self.decoded)[0]}]

    def card(self) -> dict[str, Any]:
        """The model card, with what this service takes and graphs to try."""
        return {
            **model_card(self.run),
            "explains": self.decoded is not None,
            "features": list(columns_in(self.model.classifier.schema.descriptors)),
            "service": {name: getattr(self.config, name) for name in ServiceLimits.model_fields},
            "examples": self.examples(),
        }

    def examples(self) -> list[Any]:
        """Rows to try: training graphs that are near the rationales, one class after the other."""
        if self.decoded is None or self.decoded.examples is None:
            return []
        graphs = self.decoded.examples
        order = sorted(range(len(graphs)), key=lambda g: (graphs.y[: g + 1] == graphs.y[g]).sum().item())
        chosen = graphs.select(torch.tensor(order[:EXAMPLES]))
        if self.reads_smiles:
            return [] if chosen.text is None else list(chosen.text)
        return [graph_to_json(chosen, structure) for structure in structures_from_graphs(chosen)]
