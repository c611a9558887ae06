"""Exponential moving average of a classifier's weights: steadier than the last step, at no cost in prediction."""

import copy

import torch

from graphfnp.classifier import GraphClassifier


class WeightAverage:
    """w_avg <- d w_avg + (1 - d) w with d = min(decay, (1 + t) / (10 + t)), so that early steps are soon forgotten.

    For a classifier whose weights are not to be averaged, ``averaged`` is the classifier itself.
    """

    def __init__(self, classifier: GraphClassifier, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.averaged = classifier
        if classifier.averages_weights:
            self.averaged = copy.deepcopy(classifier).requires_grad_(False)

    def restart(self, classifier: GraphClassifier) -> None:
        """Forget the past: average from these weights on."""
        self.averaged.load_state_dict(classifier.state_dict())
        self.steps = 0

    @torch.no_grad()
    def update(self, classifier: GraphClassifier) -> None:
        if self.averaged is classifier:
            return
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        self.steps += 1
        averaged = [parameter.detach() for parameter in self.averaged.parameters()]
        current = [parameter.detach() for parameter in classifier.parameters()]
        torch._foreach_lerp_(averaged, current, 1 - decay)
        # Running statistics are averages already; flags and counters cannot be averaged.
        for own, new in zip(self.averaged.buffers(), classifier.buffers(), strict=True):
            own.copy_(new)
