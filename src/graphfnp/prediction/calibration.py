"""Calibration as a value: how raw draws of logits become the probabilities that are given out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import exp
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidRun, listed
from graphfnp.prediction.isotonic import Curve, through_curves
from graphfnp.prediction.raking import rake, reweighed

BY_DISTANCE = ("gate", "fallback")  # of earlier versions, which wrote 0 where there was none
SAME_MIX = 1e-6  # largest |log ratio| of shares that are the same but for rounding
LEAST_SHARE = 1e-4  # of a class in a label mix: one that never occurred could not be corrected for


@dataclass(frozen=True)
class Calibration:
    """p_s = softmax(scale f_s / temperature + offset), then isotonic curves, then Bayes' rule for the label mix.

    The curves act on the mean over draws s, which the draws follow. ``log_prior`` (log of new over old class frequency)
    moves every draw to another label mix: p'_s[k] is proportional to p_s[k] exp(log_prior[k]).
    """

    temperature: float = 1.0
    scale: tuple[float, ...] = ()  # one for each class, as the offset: vector scaling
    offset: tuple[float, ...] = ()
    isotonic: tuple[Curve, ...] = ()  # one for each class
    prior: tuple[float, ...] = ()  # label mix that the probabilities assume before log_prior; (): not known
    log_prior: tuple[float, ...] = ()

    def apply(self, logits: Tensor) -> Tensor:
        """Probabilities [S, N, K] of logits [S, N, K]."""
        scaled = logits / self.temperature
        if self.scale:
            scaled = scaled * logits.new_tensor(self.scale) + logits.new_tensor(self.offset)
        draws = scaled.softmax(-1)
        if self.isotonic:
            draws = rake(draws, through_curves(self.isotonic, draws.mean(0)))
        return reweighed(draws, self.log_prior) if self.log_prior else draws

    def before_log_prior(self, draws: Tensor) -> Tensor:
        """Draws [S, N, K] as they were before ``log_prior`` moved them."""
        return reweighed(draws, [-ratio for ratio in self.log_prior]) if self.log_prior else draws

    @property
    def mix(self) -> tuple[float, ...] | None:
        """The class shares that the probabilities are made for; None if that is not known."""
        if not self.prior:
            return None
        log_ratio = self.log_prior or [0.0] * len(self.prior)
        weight = [share * exp(ratio) for share, ratio in zip(self.prior, log_ratio, strict=True)]
        return tuple(round(one / sum(weight), 6) for one in weight)

    def with_prior(self, new: Sequence[float]) -> "Calibration":
        """The same for graphs of which a share of new[k] is of class k: log_prior = log new - log prior."""
        if not self.prior:
            raise InvalidConfig(
                "a calibration that does not know the label mix it was made for",
                "one whose prior is known",
                "calibrate the run again (graphfnp calibrate), or replace its prior",
            )
        if len(new) != len(self.prior) or min(new) < 0 or abs(sum(new) - 1) > 0.01:
            raise InvalidConfig(
                f"class shares {listed(new)}",
                f"{len(self.prior)} shares, none below 0, that sum to 1",
                "give one share for each class, in the order of the classes",
            )
        old, wanted = (torch.tensor(mix).double().clamp(min=LEAST_SHARE) for mix in (self.prior, new))
        ratio = (wanted / old).log()
        return replace(self, log_prior=() if ratio.abs().max() < SAME_MIX else tuple(ratio.tolist()))

    def to_json(self) -> dict:
        """Plain numbers; what is at its default is left out, but for the temperature."""
        start = Calibration()
        return {k: value for k, value in asdict(self).items() if k == "temperature" or value != getattr(start, k)}

    @classmethod
    def from_json(cls, record: Mapping) -> "Calibration":
        if any(record.get(name) for name in BY_DISTANCE):
            raise InvalidRun(
                f"a calibration by distance ({' and '.join(name for name in BY_DISTANCE if record.get(name))})",
                "a temperature, vector or isotonic scaling: doubt of far graphs is now part of the model",
                "train again with this version, or use the version that trained it",
            )
        record = {name: value for name, value in record.items() if name not in BY_DISTANCE}
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(record) - set(names)):
            raise InvalidConfig(f"calibration with {listed(unknown)}", f"only {listed(names, 9)}", "remove the others")
        values: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in record.items()}
        values["isotonic"] = tuple(Curve.from_json(curve) for curve in record.get("isotonic", ()))
        return cls(**values)
