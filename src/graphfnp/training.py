"""The verb ``train``: the only loop. It walks the classifier's phases and knows nothing of the method."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.fabric import Fabric
from torch import Tensor

from graphfnp.calibration import Calibration, fit_calibration
from graphfnp.checkpoint import read_tensors, write_tensors
from graphfnp.classifier import GraphClassifier, Phase, check_partition
from graphfnp.errors import InvalidConfig, InvalidGraphs, InvalidRun
from graphfnp.graphs import Batch, PackedGraphs
from graphfnp.prediction import TrainedModel, collect
from graphfnp.randomness import derive_seed, isolated, stream
from graphfnp.settings import to_json
from graphfnp.weight_average import WeightAverage

STATE_FILE = "training.safetensors"
TIE = 1e-4  # validation losses this close are equal, and the later epoch has seen more


@dataclass(frozen=True)
class TrainingConfig:
    """One recipe for all methods."""

    epochs: int = 60
    batch_size: int = 64
    learning_rate: float = 1e-3
    patience: int = 20  # epochs without a better validation loss before training stops
    class_balance: Literal["balanced", "plain"] = "balanced"  # balanced: every class weighs the same in all losses
    average_decay: float = 0.99  # of the moving average of the weights; 0: none
    validation_draws: int = 16
    node_budget: int | None = None  # most nodes in a batch
    finishing_epochs: int = 5  # of the decoder alone, after training
    finishing_rate: float = 1e-3

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or self.learning_rate <= 0 or not 0 <= self.average_decay < 1:
            raise InvalidConfig(
                f"epochs={self.epochs}, batch_size={self.batch_size}, learning_rate={self.learning_rate}, "
                f"average_decay={self.average_decay}",
                "epochs and batch_size >= 1, learning_rate > 0, average_decay in [0, 1)",
                "change these settings",
            )


@dataclass(frozen=True)
class Event:
    """What a watcher sees after every step, and with a record after every epoch."""

    epoch: int
    epochs: int
    step: int
    steps: int
    record: dict[str, float] | None = None
    stage: str = "training"  # or "finishing"


@dataclass
class Progress:
    """The part of the training state that is not tensors; one JSON record."""

    epoch: int = 0  # epochs done
    best_epoch: int = -1
    best_loss: float = float("inf")
    history: list[dict[str, float]] = field(default_factory=list)

    def stops(self, config: TrainingConfig) -> bool:
        waited = self.epoch - 1 - self.best_epoch
        return self.epoch >= config.epochs or (self.best_epoch >= 0 and waited >= config.patience)


@dataclass(frozen=True, eq=False)
class Training:
    """What ``train`` returns."""

    model: TrainedModel
    history: Sequence[dict[str, float]]
    best_epoch: int


def train(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    validation: PackedGraphs,
    config: TrainingConfig | None = None,
    seed: int = 0,
    folder: Path | None = None,
    resume: bool = False,
    watch: Callable[[Event], None] | None = None,
    fabric: Fabric | None = None,
) -> Training:
    """Train in place, restore the best epoch, finish, and fit the calibration.

    Every epoch starts from a seed of its own, so an interrupted run that resumes from ``folder`` ends with the very
    weights of an uninterrupted one.
    """
    config = config or TrainingConfig()
    fabric = fabric or Fabric(accelerator="cpu", devices=1)
    _check_labels(graphs, validation)
    classifier.class_weight.copy_(class_weights(graphs, config.class_balance))
    classifier.to(fabric.device)
    loop = _Loop(classifier, graphs, validation, config, seed, folder, watch or (lambda event: None), fabric)
    if resume:
        loop.restore()
    while not loop.progress.stops(config):
        loop.run_epoch()
    return loop.finish()


def class_weights(graphs: PackedGraphs, balance: str) -> Tensor:
    """Mean-one weights: balanced gives class k the weight n / (K n_k), plain gives all 1."""
    counts = graphs.class_counts.float()
    if balance == "plain":
        return torch.ones_like(counts)
    present = counts > 0
    return torch.where(present, counts.sum() / (present.sum() * counts.clamp(min=1)), torch.ones_like(counts))


def _check_labels(graphs: PackedGraphs, validation: PackedGraphs) -> None:
    names = graphs.schema.class_names
    if int((graphs.class_counts > 0).sum()) < 2:
        raise InvalidGraphs(
            f"training graphs of classes {dict(zip(names, graphs.class_counts.tolist(), strict=True))}",
            "at least two classes with graphs",
            "check the label column and the split: training needs graphs of each class",
        )
    if (graphs.y < 0).any() or (validation.y < 0).any() or len(validation) == 0:
        raise InvalidGraphs(
            f"{int((graphs.y < 0).sum())} unlabelled training graphs and {len(validation)} validation graphs "
            f"({int((validation.y < 0).sum())} unlabelled)",
            "labelled graphs in both parts",
            "leave unlabelled graphs out of the split",
        )


class _Loop:
    """The state of one training, and the steps that change it."""

    def __init__(self, classifier, graphs, validation, config, seed, folder, watch, fabric) -> None:
        self.classifier, self.graphs, self.validation = classifier, graphs, validation
        self.config, self.seed, self.folder, self.watch, self.fabric = config, seed, folder, watch, fabric
        self.phases = classifier.phases()
        check_partition(classifier, self.phases)
        self.optimizers = [self._optimizer(phase, config.learning_rate) for phase in self.phases]
        self.average = WeightAverage(classifier, config.average_decay)
        self.best = {name: tensor.clone() for name, tensor in classifier.state_dict().items()}
        self.progress = Progress()

    def _optimizer(self, phase: Phase, rate: float):
        optimizer = phase.optimizer(phase.parameters, lr=rate * phase.learning_rate_scale)
        return self.fabric.setup_optimizers(optimizer)

    # ---------------------------------------------------------------- epochs

    def run_epoch(self) -> None:
        progress, config = self.progress, self.config
        started = time.perf_counter()
        epoch = progress.epoch
        torch.manual_seed(derive_seed(self.seed, "epoch", epoch, self.fabric.global_rank))
        was_complete = self.classifier.is_complete
        self.classifier.start_epoch(epoch, config.epochs, self.graphs)
        if self.classifier.is_complete and not was_complete:
            self.average.restart(self.classifier)  # what has just been placed has no past worth averaging
        self._share_weights()
        self.classifier.train()
        sums: dict[str, Tensor] = {}
        indices = self._batches("order", epoch)
        for step, index in enumerate(indices):
            batch, share = self._shard(index)
            encoded = self.classifier.encode(batch)
            for phase, optimizer in zip(self.phases, self.optimizers, strict=True):
                self._descend(phase, optimizer, batch, encoded, share, sums)
            self.classifier.after_step()
            self.average.update(self.classifier)
            self.watch(Event(epoch, config.epochs, step + 1, len(indices)))
        record = {name: float(value) / len(indices) for name, value in sums.items()}
        record.update(self._validate(epoch), seconds=time.perf_counter() - started)
        progress.history.append({"epoch": epoch, **record})
        progress.epoch += 1
        self.save()
        self.watch(Event(epoch, config.epochs, len(indices), len(indices), progress.history[-1]))

    def _descend(
        self, phase: Phase, optimizer, batch: Batch, encoded: Any, share: float, sums: dict[str, Tensor]
    ) -> None:
        with self.fabric.autocast():
            terms = phase.loss(batch, encoded)
        if not terms:  # a phase that does not act yet
            return
        optimizer.zero_grad(set_to_none=True)
        total = torch.stack(list(terms.values())).sum() * share
        # Only this phase's parameters get gradients: the others are held fixed.
        self.fabric.backward(total, inputs=phase.parameters)
        self._average_gradients(phase.parameters)
        optimizer.step()
        for name, term in terms.items():
            key = f"{phase.name}/{name}"
            sums[key] = sums.get(key, 0.0) + term.detach()

    def _batches(self, name: str, epoch: int) -> list[Tensor]:
        config = self.config
        return self.graphs.batch_indices(config.batch_size, stream(self.seed, name, epoch), config.node_budget)

    def _shard(self, index: Tensor) -> tuple[Batch, float]:
        """This process's part of a batch, and the weight that makes the mean over processes the mean over graphs."""
        world = self.fabric.world_size
        own = index[self.fabric.global_rank :: world] if len(index) >= world else index
        share = len(own) * world / len(index) if len(index) >= world else 1.0
        return self.graphs.batch(own).to(self.fabric.device), share

    def _share_weights(self) -> None:
        """Running statistics and k-means starts differ between processes: all go on from the first one's."""
        if self.fabric.world_size > 1:
            for module in (self.classifier, self.average.averaged):
                module.load_state_dict(self.fabric.broadcast(module.state_dict()))

    def _average_gradients(self, parameters: list) -> None:
        if self.fabric.world_size == 1:
            return
        with_gradient = [p for p in parameters if p.grad is not None]
        flat = torch.cat([p.grad.flatten() for p in with_gradient])
        flat = self.fabric.all_reduce(flat, reduce_op="mean")
        for parameter, part in zip(with_gradient, flat.split([p.numel() for p in with_gradient]), strict=True):
            parameter.grad.copy_(part.view_as(parameter.grad))

    # ---------------------------------------------------------------- validation

    def _validate(self, epoch: int) -> dict[str, float]:
        """Validation NLL after the post-hoc scalar is fitted: the scale of the logits does not decide when to stop."""
        judged = self.average.averaged
        raw = collect(judged, self.validation, self.config.validation_draws, self.seed)
        weight = judged.class_weight.cpu()
        calibration = fit_calibration(raw.logits, self.validation.y, raw.distance, weight)
        loss = _weighted_nll(calibration, raw, self.validation.y, weight)
        plain = _weighted_nll(Calibration(), raw, self.validation.y, weight)
        if not torch.isfinite(torch.tensor(loss)):
            raise InvalidRun(
                f"validation loss {loss} in epoch {epoch}",
                "a finite loss",
                "lower learning_rate, or check the features",
            )
        side = self._side_loss(judged)
        loss = self.fabric.broadcast(loss + side)  # all processes must agree on when to stop
        if judged.is_complete and loss <= self.progress.best_loss + TIE:
            self.progress.best_loss, self.progress.best_epoch = min(loss, self.progress.best_loss), epoch
            self.best = {name: tensor.clone() for name, tensor in judged.state_dict().items()}
        judged.eval()
        sample = self.validation.batch(torch.arange(min(256, len(self.validation)))).to(self.fabric.device)
        with torch.no_grad():
            facts = judged.diagnostics(sample)
        accuracy = float((raw.logits.softmax(-1).mean(0).argmax(-1) == self.validation.y).float().mean())
        return {
            "validation_nll": loss - side,
            "side_loss": side,
            "validation_nll_raw": plain,
            "validation_accuracy": accuracy,
            **facts,
        }

    @torch.no_grad()
    def _side_loss(self, judged: GraphClassifier) -> float:
        """Mean over validation graphs of the method's own further aims, on the same noise in every epoch."""
        judged.eval()
        with isolated(self.seed, "side loss"):
            batches = list(self.validation.batches(256, node_budget=self.config.node_budget))
            losses = [(judged.side_loss(batch.to(self.fabric.device)), batch.num_graphs) for batch in batches]
        known = [float(loss) * count for loss, count in losses if loss is not None]
        return sum(known) / len(self.validation)

    # ---------------------------------------------------------------- the end

    def finish(self) -> Training:
        """Restore the best epoch, run the finishing phases, and fit the calibration on all draws."""
        classifier, config, progress = self.classifier, self.config, self.progress
        classifier.load_state_dict(self.best)
        phases = classifier.finishing_phases()
        optimizers = [self._optimizer(phase, config.finishing_rate) for phase in phases]
        classifier.eval()
        for epoch in range(config.finishing_epochs if phases else 0):
            torch.manual_seed(derive_seed(self.seed, "finishing", epoch, self.fabric.global_rank))
            sums: dict[str, Tensor] = {}
            indices = self._batches("finishing", epoch)
            for step, index in enumerate(indices):
                batch, share = self._shard(index)
                with torch.no_grad():
                    encoded = classifier.encode(batch)
                for phase, optimizer in zip(phases, optimizers, strict=True):
                    self._descend(phase, optimizer, batch, encoded, share, sums)
                self.watch(Event(epoch, config.finishing_epochs, step + 1, len(indices), stage="finishing"))
        raw = collect(classifier, self.validation, seed=self.seed)
        calibration = fit_calibration(raw.logits, self.validation.y, raw.distance, classifier.class_weight.cpu())
        return Training(TrainedModel(classifier, calibration), progress.history, progress.best_epoch)

    # ---------------------------------------------------------------- stop and resume

    def save(self) -> None:
        if self.folder is None or self.fabric.global_rank:
            return
        tensors = {f"model.{name}": tensor for name, tensor in self.classifier.state_dict().items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.averaged.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        groups = []
        for phase, optimizer in zip(self.phases, self.optimizers, strict=True):
            state = optimizer.state_dict()
            for number, values in state["state"].items():
                tensors |= {f"optimizer.{phase.name}.{number}.{key}": torch.as_tensor(v) for key, v in values.items()}
            groups.append(state["param_groups"])
        record = {
            **self._identity(),
            "steps": self.average.steps,
            "progress": vars(self.progress),
            "optimizers": groups,
        }
        write_tensors(self.folder / STATE_FILE, tensors, record)

    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to go on."""
        settings = json.loads(json.dumps(to_json(self.classifier.config)))
        return {
            "config": to_json(self.config), "settings": settings, "seed": self.seed, "graphs": len(self.graphs),
        }  # fmt: skip

    def restore(self) -> None:
        """Go on where :meth:`save` left off; without a saved state, start from the beginning."""
        if self.folder is None or not (self.folder / STATE_FILE).exists():
            return
        tensors, record = read_tensors(self.folder / STATE_FILE)
        if changed := [name for name, value in self._identity().items() if record.get(name) != value]:
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
        self.best = part("best.")
        for phase, optimizer, groups in zip(self.phases, self.optimizers, record["optimizers"], strict=True):
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in part(f"optimizer.{phase.name}.").items():
                number, key = name.split(".", 1)
                state.setdefault(int(number), {})[key] = value
            optimizer.load_state_dict({"state": state, "param_groups": groups})
        self.progress = Progress(**record["progress"])


def _weighted_nll(calibration: Calibration, raw, y: Tensor, weight: Tensor) -> float:
    probabilities = calibration.apply(raw.logits, raw.distance).mean(0)
    chosen = probabilities.gather(1, y[:, None])[:, 0].clamp(min=1e-12).log()
    return float(-(weight[y] * chosen).sum() / weight[y].sum())
