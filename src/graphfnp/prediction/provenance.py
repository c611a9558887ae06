"""Provenance: what a model was trained on, and how well its probabilities were measured to hold, where and when."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Provenance:
    """The calibration error (ECE) of a model on held-out graphs, with what is needed to judge it."""

    dataset: str  # trained on
    data_sha256: str  # of its graphs, their features and labels
    split: str = ""
    part: str = ""  # the held-out graphs that the error was measured on
    graphs: int = 0  # how many
    ece: float | None = None  # None: not measured, e.g. for another label mix
    ece_interval: tuple[float, float] | None = None  # 95 %
    ece_floor: float | None = None  # what a perfect model would show on as many graphs
    ece_at_mix: float | None = None  # with these graphs weighed to the label mix that the probabilities assume
    measured: str = ""  # date and time

    def with_measures(self, part: str, metrics: Mapping[str, Any]) -> "Provenance":
        """The same training, its calibration measured now; ``metrics`` are those of ``evaluate``."""
        interval = metrics["ece_interval"]
        return replace(
            self,
            part=part,
            graphs=metrics["num_graphs"],
            ece=metrics["ece"],
            ece_interval=None if interval is None else (float(interval[0]), float(interval[1])),
            ece_floor=metrics["ece_floor"],
            ece_at_mix=metrics["ece_at_mix"],
            measured=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def unmeasured(self, why: str) -> "Provenance":
        """The same training; nobody has measured the calibration that it has now."""
        return Provenance(self.dataset, self.data_sha256, self.split, part=why)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ece_interval": None if self.ece_interval is None else list(self.ece_interval)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Provenance":
        known = {field.name: record[field.name] for field in fields(cls) if field.name in record}
        interval = known.get("ece_interval")
        return cls(**{**known, "ece_interval": None if interval is None else (interval[0], interval[1])})


def data_hash(graphs: PackedGraphs) -> str:
    """sha256 of the graphs themselves, with features and labels: the same whatever file they came from."""
    found = hashlib.sha256()
    for field in fields(graphs):
        value = getattr(graphs, field.name)
        if isinstance(value, Tensor):
            found.update(f"{field.name} {value.dtype} {tuple(value.shape)}".encode())
            found.update(value.contiguous().numpy().data)
    return found.hexdigest()
