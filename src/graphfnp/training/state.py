"""All that changes while a classifier is trained, and the one file that keeps it: stop anywhere, go on to the bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidRun
from graphfnp.files import read_tensors, write_tensors
from graphfnp.methods.contract import GraphClassifier, Phase
from graphfnp.training.weight_average import WeightAverage

STATE_FILE = "training.safetensors"


@dataclass
class TrainingState:
    """Weights, their average, optimisers, and a record of every epoch that is done."""

    classifier: GraphClassifier
    phases: Sequence[Phase]
    optimizers: Sequence[Any]
    average: WeightAverage
    history: list[dict[str, float]] = field(default_factory=list)

    def write(self, path: Path, identity: Mapping[str, Any]) -> None:
        """One file in one atomic step; ``identity`` says what must be the same for a training to go on."""
        tensors = {f"model.{name}": tensor for name, tensor in self.classifier.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.averaged.state_dict().items()}
        groups = []
        for phase, optimizer in zip(self.phases, self.optimizers, strict=True):
            state = optimizer.state_dict()
            for number, values in state["state"].items():
                tensors |= {f"optimizer.{phase.name}.{number}.{key}": torch.as_tensor(v) for key, v in values.items()}
            groups.append(state["param_groups"])
        progress = {"epoch": len(self.history), "history": self.history}
        record = {"steps": self.average.steps, "progress": progress, "optimizers": groups}
        write_tensors(path, tensors, {**identity, **record})

    def read(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Become what :meth:`write` wrote."""
        tensors, record = read_tensors(path)
        if changed := [name for name, value in identity.items() if record.get(name) != value]:
            raise InvalidRun(
                f"a resumed run with another {', '.join(changed)}",
                "the settings, seed and data the run was started with",
                "resume with the same command, or start a new run folder",
            )

        def part(prefix: str) -> dict[str, Tensor]:
            return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}

        self.classifier.load_state_dict(part("model."))
        self.average.averaged.load_state_dict(part("average."))
        self.average.steps = record["steps"]
        for phase, optimizer, groups in zip(self.phases, self.optimizers, record["optimizers"], strict=True):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in part(f"optimizer.{phase.name}.").items():
                number, key = name.split(".", 1)
                state.setdefault(int(number), {})[key] = value
            optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.history = record["progress"]["history"]
