"""Calibration as a value: how raw draws of logits become the probabilities that are given out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp
from typing import Literal, get_args

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidRun, listed
from graphfnp.prediction.scalings import (
    Curve,
    IsotonicScaling,
    SoftTemperature,
    Temperature,
    Unscaled,
    VectorScaling,
    reweighed,
)

Kind = Literal["soft", "temperature", "vector", "isotonic", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Scaling = Temperature | VectorScaling | IsotonicScaling
SCALINGS: dict[Kind, type[Scaling]] = {
    "soft": SoftTemperature, "temperature": Temperature, "vector": VectorScaling, "isotonic": IsotonicScaling,
    "none": Unscaled,
}  # fmt: skip
FIELDS = ("temperature", "scale", "offset", "isotonic", "prior", "log_prior")  # of a record
FEWEST_GRAPHS = 10  # with labels, below which nothing is fitted
BY_DISTANCE = ("gate", "fallback")  # of earlier versions, which wrote 0 where there was none
SAME_MIX = 1e-6  # largest |log ratio| of shares that are the same but for rounding
LEAST_SHARE = 1e-4  # of a class in a label mix: one that never occurred could not be corrected for


@dataclass(frozen=True)
class Calibration:
    """A scaling of the logits, then Bayes' rule for the label mix.

    ``log_prior`` (log of new over old class frequency) moves every draw to another label mix: p'_s[k] is proportional
    to p_s[k] exp(log_prior[k]).
    """

    scaling: Scaling = field(default_factory=Temperature)
    prior: tuple[float, ...] = ()  # label mix that the probabilities assume before log_prior; (): not known
    log_prior: tuple[float, ...] = ()

    def apply(self, logits: Tensor) -> Tensor:
        """Probabilities [S, N, K] of logits [S, N, K]."""
        draws = self.scaling.apply(logits)
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
        """The same for graphs of which a share of new[k] is of class k: log_prior = log new - log prior.

        A class that the prior does not have stays where it is: how often it occurs has taught nothing.
        """
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
        ratio, known = (wanted / old).log(), torch.tensor(self.prior) > 0
        if not known.all():
            ratio = torch.where(known, ratio - wanted[known].sum().log(), 0.0)
        return replace(self, log_prior=() if ratio.abs().max() < SAME_MIX else tuple(ratio.tolist()))

    def to_json(self) -> dict:
        """Plain numbers of the scaling, and of the label mix where it is known."""
        mix = {"prior": self.prior, "log_prior": self.log_prior}
        return {**self.scaling.to_json(), **{name: value for name, value in mix.items() if value}}

    @classmethod
    def from_json(cls, record: Mapping) -> "Calibration":
        if any(record.get(name) for name in BY_DISTANCE):
            raise InvalidRun(
                f"a calibration by distance ({' and '.join(name for name in BY_DISTANCE if record.get(name))})",
                "a temperature, vector or isotonic scaling: doubt of far graphs is now part of the model",
                "train again with this version, or use the version that trained it",
            )
        record = {name: value for name, value in record.items() if name not in BY_DISTANCE}
        if unknown := sorted(set(record) - set(FIELDS)):
            raise InvalidConfig(f"calibration with {listed(unknown)}", f"only {listed(FIELDS, 9)}", "remove the others")
        temperature = record.get("temperature", 1.0)
        if temperature != 1 and (record.get("isotonic") or record.get("scale")):
            raise InvalidRun(
                f"a calibration of temperature {temperature:g} with another scaling", "one scaling", "calibrate again"
            )
        scaling: Scaling = Temperature(temperature, tuple(record.get("offset", ())))
        if record.get("isotonic"):
            scaling = IsotonicScaling(tuple(Curve.from_json(curve) for curve in record["isotonic"]))
        elif record.get("scale"):
            scaling = VectorScaling(tuple(record["scale"]), tuple(record["offset"]))
        return cls(scaling, tuple(record.get("prior", ())), tuple(record.get("log_prior", ())))


def can_tell(y: Tensor) -> bool:
    """Do these labels, all known, teach a scaling anything?"""
    return len(y) >= FEWEST_GRAPHS and len(y.unique()) > 1


def fit_calibration(
    kind: Kind, logits: Tensor, y: Tensor, class_weight: Tensor | None = None, prior: Sequence[float] = ()
) -> Calibration:
    """A calibration of the named kind for logits [S, N, K] and labels [N], -1 where unknown.

    ``prior`` is the label mix the logits assume. Vector and isotonic scaling would learn the mix of the held-out labels
    along with the rest: each class is weighed so that the mix stays the prior, or without one becomes the labels' own.
    Labels that cannot tell (fewer than ten, or of one class) and logits that are not finite give the identity.
    """
    scaling, prior, known = SCALINGS[kind], tuple(prior), y >= 0
    logits, y = logits[:, known].detach(), y[known]
    if not can_tell(y) or not logits.isfinite().all():
        return Calibration(prior=prior)
    weight = torch.ones(len(y)) if class_weight is None else class_weight[y]
    if scaling.learns_mix:
        share = torch.bincount(y, minlength=logits.shape[-1]).double() / len(y)
        weight = (torch.tensor(prior).double() / share)[y] if prior else torch.ones(len(y))
        prior = prior or tuple(share.tolist())
    return Calibration(scaling.fit(logits, y, weight), prior)
