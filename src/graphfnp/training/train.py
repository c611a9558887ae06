"""The verb ``train``: the only loop. It walks the classifier's phases and knows nothing of the method."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from graphfnp.errors import Diverged, InvalidConfig
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.subgraphs import beside_subgraphs
from graphfnp.methods.contract import Encoding, GraphClassifier, Phase, check_partition
from graphfnp.metrics.scores import negative_log_likelihood
from graphfnp.networks.descriptors import fit_descriptors
from graphfnp.prediction.calibrate import fit_held_out, held_back
from graphfnp.prediction.calibration import Calibration, fit_calibration
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.predict import TrainedModel, collect, fit_domain
from graphfnp.randomness import derive_seed, isolated, stream
from graphfnp.settings import to_json
from graphfnp.training.class_balance import check_labels, class_weights, weighted_shares
from graphfnp.training.config import TrainingConfig
from graphfnp.training.state import STATE_FILE, TrainingState
from graphfnp.training.weight_average import WeightAverage

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class Event:
    """What a watcher sees after every step, and with a record after every epoch."""

    epoch: int
    epochs: int
    step: int
    steps: int
    record: dict[str, float] | None = None
    stage: str = "training"  # or "finishing"


@dataclass(frozen=True, eq=False)
class Training:
    """What ``train`` returns."""

    model: TrainedModel
    history: Sequence[dict[str, float]]


def train(
    classifier: GraphClassifier,
    graphs: PackedGraphs,
    validation: PackedGraphs,
    config: TrainingConfig | None = None,
    seed: int = 0,
    folder: Path | None = None,
    resume: bool = False,
    watch: Callable[[Event], None] | None = None,
    fabric: "Fabric | None" = None,
) -> Training:
    """Train in place for all epochs, take the averaged weights, run the finishing phases, and fit the calibration.

    Every epoch starts from a seed of its own, so an interrupted run that resumes from ``folder`` ends with
    exactly the weights of an uninterrupted one.
    """
    config = config or TrainingConfig()
    fabric = fabric or one_process()
    if not isinstance(classifier, GraphClassifier) or not isinstance(config, TrainingConfig):
        raise InvalidConfig(
            f"a {type(classifier).__name__} and a {type(config).__name__}", "a classifier and a TrainingConfig",
            "give make_classifier('vanilla', graphs.schema), TrainingConfig(epochs=30)",
        )  # fmt: skip
    graphs, validation = matching(graphs, classifier.schema), matching(validation, classifier.schema)
    check_labels(graphs, validation)
    classifier.class_weight.copy_(class_weights(graphs, config.class_balance))
    fit_descriptors(classifier, graphs)
    classifier.to(fabric.device)
    loop = _Loop(classifier, graphs, validation, config, seed, folder, watch or (lambda event: None), fabric)
    if resume:
        loop.restore()
    while loop.state.phases and len(loop.state.history) < config.epochs:
        loop.run_epoch()
    return loop.finish()


def one_process() -> "Fabric":
    from lightning_fabric import Fabric  # seconds to import, and only training needs it

    return Fabric(accelerator="cpu", devices=1)


def leave_processes() -> None:
    """Wait for the threads by which processes talk: one still at work while Python ends may abort the process."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


class _Loop:
    """The state of one training, and the steps that change it."""

    def __init__(self, classifier, graphs, validation, config, seed, folder, watch, fabric) -> None:
        self.classifier, self.graphs, self.held_out = classifier, graphs, validation
        self.validation = validation.select(torch.where(~held_back(validation.y, config.conformal_share, seed))[0])
        self.config, self.seed, self.folder, self.watch, self.fabric = config, seed, folder, watch, fabric
        self.parts = classifier.default_parts if config.parts is None else config.parts
        phases = classifier.phases()
        check_partition(classifier, phases)
        self.state = TrainingState(
            classifier,
            phases,
            [self._optimizer(phase, config.learning_rate) for phase in phases],
            WeightAverage(classifier, config.average_decay),
        )

    def _optimizer(self, phase: Phase, rate: float):
        optimizer = phase.optimizer(phase.parameters, lr=rate * phase.learning_rate_scale)
        return self.fabric.setup_optimizers(optimizer)

    # ---------------------------------------------------------------- epochs

    def run_epoch(self) -> None:
        history, config = self.state.history, self.config
        started = time.perf_counter()
        epoch = len(history)
        torch.manual_seed(derive_seed(self.seed, "epoch", epoch, self.fabric.global_rank))
        with self.state.average.following_what_is_placed():
            self.classifier.start_epoch(epoch, config.epochs, self.graphs)
        self._share_weights()
        self.classifier.train()
        sums: dict[str, Tensor] = {}
        indices = self._batches("order", epoch)
        for step, index in enumerate(indices):
            batch, share = self._shard(index)
            if self.parts:
                batch = beside_subgraphs(batch, self.parts, self.graphs.schema)
            encoded = self.classifier.encode(batch)
            for phase, optimizer in zip(self.state.phases, self.state.optimizers, strict=True):
                self._descend(phase, optimizer, encoded, share, sums, epoch, step)
            self.classifier.after_step()
            self.state.average.update()
            self.watch(Event(epoch, config.epochs, step + 1, len(indices)))
        self._share_weights()
        record = {name: float(value) / len(indices) for name, value in sums.items()}
        record.update(self._validate(epoch))
        record["seconds"] = time.perf_counter() - started
        history.append({"epoch": epoch, **record})
        self.save()
        self.watch(Event(epoch, config.epochs, len(indices), len(indices), history[-1]))

    def _descend(
        self, phase: Phase, optimizer, encoded: Encoding, share: float, sums: dict[str, Tensor], epoch: int, step: int
    ) -> None:
        with self.fabric.autocast():
            terms = phase.loss(encoded)
        if not terms:  # a phase that does not act yet
            return
        optimizer.zero_grad(set_to_none=True)
        total = torch.stack(list(terms.values())).sum() * share
        # Only this phase's parameters get gradients, and not those that are frozen: the others are held fixed.
        self.fabric.backward(total, inputs=[weight for weight in phase.parameters if weight.requires_grad])
        self._average_gradients(phase.parameters)
        with self._noise_of_all(epoch, step):
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
            for module in (self.classifier, self.state.average.averaged):
                module.load_state_dict(self.fabric.broadcast(module.state_dict()))

    def _noise_of_all(self, epoch: int, step: int) -> AbstractContextManager:
        """Inside, all processes draw the same noise: by noise of their own SGLD's weights would walk apart."""
        return isolated(self.seed, "step", epoch, step) if self.fabric.world_size > 1 else nullcontext()

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
        """For the log alone: nothing is chosen by it."""
        judged = self.state.average.averaged
        raw = collect(judged, self.validation, self.config.validation_draws, self.seed)
        y, weight = self.validation.y, judged.class_weight.cpu()
        calibration = fit_calibration("soft", raw.logits, y, weight)
        loss, plain = (
            float(negative_log_likelihood(fit.apply(raw.logits).mean(0), y, weight))
            for fit in (calibration, Calibration())
        )
        if not torch.isfinite(torch.tensor(loss)):
            raise Diverged(
                f"validation loss {loss} in epoch {epoch}",
                "a finite loss",
                "lower learning_rate, or check the features",
            )
        judged.eval()
        sample = self.validation.batch(torch.arange(min(256, len(self.validation)))).to(self.fabric.device)
        with torch.no_grad():
            facts = judged.diagnostics(sample)
        accuracy = float((raw.logits.softmax(-1).mean(0).argmax(-1) == self.validation.y).float().mean())
        return {
            "validation_nll": loss,
            "validation_nll_raw": plain,
            "validation_accuracy": accuracy,
            **facts,
        }

    # ---------------------------------------------------------------- the end

    def finish(self) -> Training:
        """Take the averaged weights, run the finishing phases, and fit what the held-out labels teach."""
        classifier, config = self.classifier, self.config
        classifier.load_state_dict(self.state.average.averaged.state_dict())
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
                    self._descend(phase, optimizer, encoded, share, sums, epoch, step)
                self.watch(Event(epoch, config.finishing_epochs, step + 1, len(indices), stage="finishing"))
        classifier.after_training(self.graphs)
        classifier.cpu()  # what comes after training is small, and its values live in memory
        raw, y, weight = collect(classifier, self.held_out, seed=self.seed), self.held_out.y, classifier.class_weight
        prior, domain = weighted_shares(self.graphs, weight), fit_domain(classifier, self.graphs, self.seed)
        calibration, conformal = fit_held_out(
            raw, y, config.calibration, config.conformal_share, self.seed, weight, prior
        )
        # Classes weigh alike while it learns; what it says is for the mix of the data it learned from.
        calibration = calibration.with_prior(label_shares(self.graphs.y, self.graphs.num_classes))
        return Training(TrainedModel(classifier, calibration, conformal, domain), self.state.history)

    # ---------------------------------------------------------------- stop and resume

    @property
    def _identity(self) -> dict[str, Any]:
        """What must be the same for a training to go on."""
        settings = json.loads(json.dumps(to_json(self.classifier.config)))
        graphs = {"graphs": len(self.graphs), "validation": len(self.validation)}
        return {"config": to_json(self.config), "settings": settings, "seed": self.seed, **graphs}

    def save(self) -> None:
        if self.folder is not None and self.fabric.global_rank == 0:
            self.state.write(self.folder / STATE_FILE, self._identity)

    def restore(self) -> None:
        """Go on where :meth:`save` left off; without a saved state, start from the beginning."""
        if self.folder is not None and (self.folder / STATE_FILE).exists():
            self.state.read(self.folder / STATE_FILE, self._identity)
