"""The model behind the service: rows in, records and explanations out; everything here runs in one thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from graphfnp.chemistry.molecule_arrays import joined
from graphfnp.chemistry.smiles import packed
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.chemistry.typed_smiles import reads_smiles
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.records import prediction_records
from graphfnp.rationales.explain import explain_by_rationales
from graphfnp.rationales.store import DecodedRationales
from graphfnp.report.explanation_page import explanation_records
from graphfnp.runs.card import model_card
from graphfnp.runs.run import Run
from graphfnp.service.batching import Kind
from graphfnp.service.config import ServiceConfig
from graphfnp.service.reading import ReadRow
from graphfnp.service.wire import graph_to_json

PREDICT, EXPLAIN = "predict", "explain"
EXPLAINED_ROWS = 4  # in a batch: they cost more
EXAMPLES = 6


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

    def kind(self, name: str, level: float) -> Kind:
        return Kind(
            name, level, min(EXPLAINED_ROWS, self.config.batch_rows) if name == EXPLAIN else self.config.batch_rows
        )

    def work(self, kind: Kind, rows: Sequence[ReadRow]) -> list[dict[str, Any]]:
        """A record for each row; with an explanation if it is asked for."""
        good = [number for number, row in enumerate(rows) if row.arrays is not None]
        problems = [Problem(number, row.given, row.reason) for number, row in enumerate(rows) if row.arrays is None]
        graphs = None if not good else self.graphs([rows[number] for number in good])
        predictions = None if graphs is None else predict(self.model, graphs)
        records = prediction_records(self.model, predictions, graphs, good, problems, kind.level)
        if kind.name == EXPLAIN:
            for record in records:
                record["explanation"] = None
            if graphs is not None and self.decoded is not None:
                for number, explanation in zip(good, self._explanations(graphs, self.decoded), strict=True):
                    records[number]["explanation"] = explanation
        return records

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
        limits = ("most_bytes", "most_rows", "most_explained", "most_nodes", "most_edges", "longest_text", "seconds")
        card = model_card(self.run)
        return {
            **card,
            "explains": self.decoded is not None,
            "service": {name: getattr(self.config, name) for name in limits},
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
