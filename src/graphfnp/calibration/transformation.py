"""Calibration as a value: how raw draws of logits become the probabilities that are given out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import pi
from typing import Any

import torch
from scipy.linalg import helmert
from torch import Tensor

from graphfnp.calibration.isotonic import Curve, through_curves
from graphfnp.calibration.raking import rake, reweighed
from graphfnp.errors import InvalidConfig, listed
from graphfnp.randomness import derive_seed, stream

PROBIT = pi / 4  # pi / 8 for the difference of two logits, whose noise has twice the variance of one logit's
LEAST_SHARE = 1e-4  # of a class in a label mix: one that never occurred could not be corrected for


@dataclass(frozen=True)
class Calibration:
    """p = (1 - w) softmax(scale f / temperature + offset + sqrt(gate d) eps) + w / K, w = a d + (1 - a) d^b.

    Gate and fallback (a) are the N(0, I) a graph falls back on where no rationale is near: the one as noise of the
    logits, the other as the share w of draws in which no rationale is linked, so that all classes are equally
    probable. Where the distance d is 0 neither does anything; unlike a temperature, the fallback bounds how sure a far
    graph can be, and however little of it validation graphs asked for, w is at least d^b, b the bend. A fallback of 0
    is none.
    What comes next acts on the mean over draws, and the draws follow it: the curves of isotonic scaling, and
    ``log_prior`` (log of new over old class frequency), which moves predictions to another label mix by Bayes' rule.
    """

    temperature: float = 1.0
    gate: float = 0.0
    fallback: float = 0.0  # in [0, 1]
    bend: int = 3  # how sharply doubt of far graphs sets in; models fitted before this was stored have 3
    log_prior: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()  # one for each class, as the offset: vector scaling
    offset: tuple[float, ...] = ()
    isotonic: tuple[Curve, ...] = ()  # one for each class
    prior: tuple[float, ...] = ()  # label mix that the probabilities assume before log_prior; (): not known

    def apply(self, logits: Tensor, distance: Tensor | None = None, seed: int = 0) -> Tensor:
        """Probabilities [S, N, K] of logits [S, N, K] and distances [N].

        Draw s has one eps for all graphs, so a graph's row does not depend on its batch. One draw alone cannot show
        noise: there (S = 1) the noise is integrated as in :meth:`closed_form`.
        """
        noisy = self.gate > 0 and len(logits) > 1
        noise = logit_noise(len(logits), logits.shape[-1], seed).to(logits)[:, None] if noisy else None
        draws = self.calibrated_logits(logits, distance, noise).softmax(-1)
        if self.fallback > 0:
            draws = fallen_back(draws, self.fallback_share(distance), seed)
        return rake(draws, self._corrected(draws.mean(0))) if self.isotonic or self.log_prior else draws

    def closed_form(self, logits: Tensor, distance: Tensor | None = None) -> Tensor:
        """E_eps[p] ~ (1 - w) softmax((scale f / temperature + offset) / sqrt(1 + pi/4 gate distance)) + w / K.

        The probit approximation E sigmoid(a + sqrt(v) eps) ~ sigmoid(a / sqrt(1 + pi/8 v)) with v = 2 gate distance,
        the variance of the difference of two logits; with more classes, the same for every pair of them (mean field).
        Within .02 of the integral for two classes, .07 for five.
        """
        probabilities = self.calibrated_logits(logits, distance).softmax(-1)
        if self.fallback > 0:
            probabilities = fallen_back(probabilities[None], self.fallback_share(distance))[0]
        return self._corrected(probabilities)

    def calibrated_logits(self, logits: Tensor, distance: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """Logits [..., N, K] under the noise [S, 1 or N, K]; if none is given, shrunk as by the mean over all noise."""
        scaled = logits / self.temperature
        if self.scale:
            scaled = scaled * logits.new_tensor(self.scale) + logits.new_tensor(self.offset)
        if self.gate == 0:
            return scaled
        variance = self.gate * self._known(distance).to(logits).unsqueeze(-1)
        return scaled * (1 + PROBIT * variance).rsqrt() if noise is None else scaled + variance.sqrt() * noise

    def fallback_share(self, distance: Tensor | None) -> Tensor:
        """w = a d + (1 - a) d^b of distances d [N], a the fallback, b the bend."""
        known = self._known(distance)
        return self.fallback * known + (1 - self.fallback) * known**self.bend

    def _known(self, distance: Tensor | None) -> Tensor:
        if distance is None:
            raise InvalidConfig(
                f"gate {self.gate:g} and fallback {self.fallback:g} without distances",
                "the distance of each graph from all the model knows",
                "pass the classifier's distance, or fit the temperature instead",
            )
        return distance

    def _corrected(self, probabilities: Tensor) -> Tensor:
        if self.isotonic:
            probabilities = through_curves(self.isotonic, probabilities)
        return reweighed(probabilities, self.log_prior) if self.log_prior else probabilities

    def before_log_prior(self, probabilities: Tensor) -> Tensor:
        """Means over draws [N, K] as they were before ``log_prior`` moved them."""
        return reweighed(probabilities, [-ratio for ratio in self.log_prior]) if self.log_prior else probabilities

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
        return replace(self, log_prior=tuple((wanted / old).log().tolist()))

    def to_json(self) -> dict:
        """Plain numbers; what is at its default is left out, but for the scalars."""
        always = ("temperature", "gate", "fallback", "log_prior")
        start = Calibration()
        return {name: value for name, value in asdict(self).items() if name in always or value != getattr(start, name)}

    @classmethod
    def from_json(cls, record: Mapping) -> "Calibration":
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(record) - set(names)):
            raise InvalidConfig(f"calibration with {listed(unknown)}", f"only {listed(names, 9)}", "remove the others")
        values: dict[str, Any] = {k: tuple(value) if isinstance(value, list) else value for k, value in record.items()}
        values["isotonic"] = tuple(Curve.from_json(curve) for curve in record.get("isotonic", ()))
        return cls(**values)


def fallen_back(draws: Tensor, share: Tensor, seed: int = 0) -> Tensor:
    """Draws [S, N, K] of which a share [N] says that all classes are equally probable."""
    weight = fallback_weight(share.to(draws), len(draws), seed).unsqueeze(-1)
    return (1 - weight) * draws + weight / draws.shape[-1]


def fallback_weight(share: Tensor, num_draws: int, seed: int = 0) -> Tensor:
    """[S, N]: does a draw fall back?

    In an order that is the same for all graphs, the last one of a graph in part: so that the share [N] is met exactly,
    and a graph's row does not depend on its batch.
    """
    rank = torch.randperm(num_draws, generator=stream(seed, "fallback order")).to(share)
    return (share * num_draws - rank[:, None]).clamp(0, 1)


def logit_noise(num_draws: int, num_classes: int, seed: int) -> Tensor:
    """[S, K] standard normal noise of logits, with few draws as even as many: scrambled Sobol points in +- pairs.

    A shift common to all logits changes no probability, so the noise lives in the K - 1 dimensions across it.
    """
    engine = torch.quasirandom.SobolEngine(num_classes - 1, scramble=True, seed=derive_seed(seed, "gate"))
    uniform = engine.draw((num_draws + 1) // 2, dtype=torch.double)
    normal = torch.special.ndtri(uniform.clamp(1e-9, 1 - 1e-9))
    pairs = torch.cat([normal, -normal])[:num_draws] @ torch.from_numpy(helmert(num_classes))
    # Shuffled, or draw s would go with draw s of the classifier's own Sobol points, which are not independent of these.
    return pairs[torch.randperm(num_draws, generator=stream(seed, "gate order"))]
