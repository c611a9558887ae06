"""A cell: one training, or one explainer of what was trained, and the name its result is kept under."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphfnp.experiments.protocol import PROTOCOL, RECIPE, REVISIONS, WIDTH
from graphfnp.runs.run import Plan
from graphfnp.settings import TRAINING, by_owner, with_overrides
from graphfnp.training.config import TrainingConfig


@dataclass(frozen=True)
class Cell:
    """Everything that decides a result; :attr:`key` is the hash of it."""

    dataset: str
    backbone: str
    method: str
    seed: int
    overrides: Mapping[str, Any] = field(default_factory=dict)  # by dotted name; "training.x" for the recipe
    data: Mapping[str, Any] = field(default_factory=dict)  # passed to load: split, limit
    explain: Mapping[str, Any] = field(default_factory=dict)  # explainer, measure and limit, if that is what is judged

    @property
    def content(self) -> dict[str, Any]:
        """What is hashed. A method whose defaults change gets a new revision; the recipe is spelled out."""
        return {
            "dataset": self.dataset, "backbone": self.backbone, "method": self.method, "seed": self.seed,
            "overrides": dict(self.overrides), "data": dict(self.data),
            "recipe": {**RECIPE, "width": WIDTH}, "protocol": PROTOCOL,
            "revision": REVISIONS.get(self.method, 0),
            **({"explain": dict(self.explain)} if self.explain else {}),
        }  # fmt: skip

    @property
    def key(self) -> str:
        text = json.dumps(self.content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def plan(self) -> Plan:
        method, recipe = by_owner(self.overrides)
        settings = {"backbone.name": self.backbone, "backbone.width": WIDTH, **method}
        training = with_overrides(TrainingConfig(), {**RECIPE, **recipe})
        return Plan(self.dataset, self.method, self.seed, settings, training, dict(self.data))

    @property
    def trained(self) -> "Cell":
        """The training whose model is explained."""
        return replace(self, explain={})

    def __str__(self) -> str:
        extra = "".join(f" {name.removeprefix(TRAINING)}={value}" for name, value in self.overrides.items())
        split = f" ({self.data['split']})" if "split" in self.data else ""
        explainer = f" {self.explain['measure']} of {self.explain['explainer']}" if self.explain else ""
        return f"{self.dataset}{split} {self.backbone} {self.method} seed {self.seed}{extra}{explainer}"

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Cell":
        names = ("dataset", "backbone", "method", "seed", "overrides", "data")
        return cls(**{name: record[name] for name in names}, explain=record.get("explain", {}))
