"""The model behind the service: rows in, records and explanations out; everything here runs in one thread."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from graphfnp.card import model_card
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.structures import structures_from_graphs
from graphfnp.datasets.typed_smiles import graphs_in_schema, reads_smiles
from graphfnp.decoding.explanation import explain_by_rationales
from graphfnp.decoding.kept import Decoded
from graphfnp.errors import GraphFNPError
from graphfnp.graphs import PackedGraphs, concatenate
from graphfnp.prediction import TrainedModel, predict
from graphfnp.records import prediction_records
from graphfnp.report.explanation_page import explanation_records
from graphfnp.run import Run
from graphfnp.service.batching import Kind
from graphfnp.service.config import ServiceConfig
from graphfnp.service.wire import GraphInput, graph_from_json, graph_to_json

PREDICT, EXPLAIN = "predict", "explain"
EXPLAINED_ROWS = 4  # in a batch: they cost more
EXAMPLES = 6


@dataclass(frozen=True, eq=False)
class Engine:
    """A run's model with its decoded rationales; ``decoded`` is None if the method has none."""

    run: Run
    decoded: Decoded | None
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

    def work(self, kind: Kind, rows: list[str | GraphInput]) -> list[dict[str, Any]]:
        """A record for each row; with an explanation if it is asked for."""
        graphs, numbers, problems = self.read(rows)
        predictions = None if graphs is None else predict(self.model, graphs)
        records = prediction_records(self.model, predictions, graphs, numbers, problems, kind.level)
        if kind.name == EXPLAIN:
            for record in records:
                record["explanation"] = None
            if graphs is not None and self.decoded is not None:
                for number, explanation in zip(numbers, self._explanations(graphs, self.decoded), strict=True):
                    records[number]["explanation"] = explanation
        return records

    def _explanations(self, graphs: PackedGraphs, decoded: Decoded) -> list[dict[str, Any]]:
        found = explain_by_rationales(self.model, decoded.rationales, graphs)
        shown = ("correlation", "rationales", "edges")
        return [{name: record[name] for name in shown} for record in explanation_records(found, decoded.rationales)]

    def read(self, rows: Sequence[str | GraphInput]) -> tuple[PackedGraphs | None, list[int], list[Problem]]:
        """The graphs in the model's schema, the row of each, and the rows that are none or are too large."""
        schema = self.model.classifier.schema
        problems, parts, numbers = [], [], []
        texts = [(k, row) for k, row in enumerate(rows) if isinstance(row, str)]
        short = [(k, text) for k, text in texts if len(text) <= self.config.longest_text]
        for k, text in set(texts) - set(short):
            problems.append(Problem(k, text[:80] + "...", f"{len(text)} characters, {self._most('longest_text')}"))
        if short and self.reads_smiles:
            graphs, found, refused = graphs_in_schema([text for _, text in short], schema)
            problems += [Problem(short[one.row][0], one.given, one.reason) for one in refused]
            if graphs is not None:
                parts.append(graphs)
                numbers += [short[row][0] for row in found.tolist()]
        for k, row in enumerate(rows):
            if isinstance(row, GraphInput):
                try:
                    parts.append(self._one_graph(row, k))
                    numbers.append(k)
                except GraphFNPError as error:
                    problems.append(Problem(k, f"graph {k}", f"{error.given}; expected {error.expected}"))
        if not parts:
            return None, [], problems
        graphs = concatenate(parts) if len(parts) > 1 else parts[0]
        sizes = graphs.node_ptr.diff().tolist()
        small = [g for g, size in enumerate(sizes) if size <= self.config.most_nodes]
        for g in set(range(len(sizes))) - set(small):
            given = f"graph {numbers[g]}" if graphs.text is None else graphs.text[g]
            problems.append(Problem(numbers[g], given, f"{sizes[g]} atoms or nodes, {self._most('most_nodes')}"))
        if not small:
            return None, [], problems
        return graphs.select(torch.tensor(small)), [numbers[g] for g in small], problems

    def _one_graph(self, row: GraphInput, number: int) -> PackedGraphs:
        if row.num_nodes > self.config.most_nodes:
            limit = self._most("most_nodes")
            raise GraphFNPError(f"{row.num_nodes} nodes, {limit}", "a smaller graph", "leave it out")
        graphs = graph_from_json(row, self.model.classifier.schema)
        return replace(graphs, text=(f"graph {number}",))

    def _most(self, limit: str) -> str:
        return f"and this service takes at most {getattr(self.config, limit)}"

    # ---------------------------------------------------------------- what does not change

    def card(self) -> dict[str, Any]:
        """The model card, with what this service takes and graphs to try."""
        limits = ("most_bytes", "most_rows", "most_explained", "most_nodes", "longest_text", "seconds")
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
