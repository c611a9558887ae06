"""Exponential moving average of a classifier's weights: steadier than the last step, at no cost in prediction."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from graphfnp.methods.contract import GraphClassifier


class WeightAverage:
    """w_avg <- d w_avg + (1 - d) w with d = min(decay, (1 + t) / (10 + t)), so that early steps are soon forgotten.

    For a classifier whose weights are not to be averaged, ``averaged`` is the classifier itself.
    """

    def __init__(self, classifier: GraphClassifier, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.classifier = self.averaged = classifier
        if classifier.averages_weights:
            self.averaged = copy.deepcopy(classifier).requires_grad_(False)
        # Taken once: walking through all modules would cost more than the average itself.
        self._own: list[Tensor] = list(self.averaged.parameters())
        self._new: list[Tensor] = list(classifier.parameters())
        self._flags: list[tuple[nn.Module, nn.Module]] = []
        for own, new in zip(self.averaged.modules(), classifier.modules(), strict=True):
            if isinstance(new, nn.BatchNorm1d):
                # Statistics of the last few batches do not fit averaged weights: they are averaged as long.
                for name in ("running_mean", "running_var"):
                    self._own.append(getattr(own, name))
                    self._new.append(getattr(new, name))
            elif any(True for _ in new.buffers(recurse=False)):
                self._flags.append((own, new))

    @contextmanager
    def following_what_is_placed(self) -> Iterator[None]:
        """Weights that change in this context were placed, not learned: they have no past worth averaging."""
        if self.averaged is self.classifier:
            yield
            return
        before = {name: value.clone() for name, value in self.classifier.state_dict().items()}
        yield
        averaged = self.averaged.state_dict()
        for name, value in self.classifier.state_dict().items():
            if not torch.equal(value, before[name]):
                averaged[name].copy_(value)

    @torch.no_grad()
    def update(self) -> None:
        if self.averaged is self.classifier:
            return
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        torch._foreach_lerp_(self._own, self._new, 1 - decay)
        for averaged, module in self._flags:  # flags and counters cannot be averaged
            for own, new in zip(averaged.buffers(recurse=False), module.buffers(recurse=False), strict=True):
                own.copy_(new)
