"""Report: everything a reader wants to see of one trained model on one set of graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Report:
    """Metrics, predictions and rationales; independent of the model they came from."""

    title: str
    graphs: PackedGraphs  # the graphs judged, usually the test part
    predictions: Predictions
    metrics: Mapping[str, object]  # as in metrics.json
    embedding: Tensor  # [graphs, dims]
    rationales: Rationales | None = None  # None: the method has none
    correlation: Tensor | None = None  # [graphs, rationales]: averaged over draws
    facts: Mapping[str, str] = field(default_factory=dict)  # dataset, split, method, seed, versions, command
    history: Sequence[Mapping[str, float]] = ()  # one record an epoch
    notes: Sequence[str] = ()  # warnings a reader should see: stand-ins, label shift, rows refused
    conformal_sets: Tensor | None = None  # bool [graphs, classes]
    rows: Sequence[int] = ()  # of the graphs in their source; (): graph g is row g
    names: Sequence[str | None] = ()  # what people call the graphs, where the source says so

    def row(self, graph: int) -> int:
        return self.rows[graph] if self.rows else graph

    def called(self, graph: int) -> str:
        """The graph's name, else its row."""
        return (self.names[graph] if self.names else None) or f"row {self.row(graph)}"
