"""Calibration: one scalar fitted on validation graphs, kept with the model and applied to every prediction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import pi

import numpy as np
import torch
from scipy.linalg import helmert
from scipy.optimize import minimize_scalar
from torch import Tensor

from graphfnp.errors import InvalidConfig, listed
from graphfnp.randomness import derive_seed, stream

# Bounds of each scalar. Without one the temperature of a validation set unlike the training set (BACE) diverges.
RANGES = {"temperature": (0.2, 10.0), "gate": (0.01, 400.0)}
FEWEST_GRAPHS = 10
PROBIT = pi / 4  # pi / 8 for the difference of two logits, whose noise has twice the variance of one logit's


@dataclass(frozen=True)
class Calibration:
    """p = softmax(f / temperature + log_prior + sqrt(gate * distance) eps), eps ~ N(0, I): noise far from all known.

    Where distance is 0 the gate does nothing; far away it pulls the mean over draws towards equal probabilities.
    ``log_prior`` (log of new over old class frequency, one for each class) moves predictions to another label mix.
    """

    temperature: float = 1.0
    gate: float = 0.0
    log_prior: tuple[float, ...] = ()

    def apply(self, logits: Tensor, distance: Tensor | None = None, seed: int = 0) -> Tensor:
        """Probabilities [S, N, K] of logits [S, N, K] and distances [N].

        Draw s has one eps for all graphs, so a graph's row does not depend on its batch. One draw alone cannot show
        noise: there (S = 1) the noise is integrated as in :meth:`closed_form`.
        """
        noisy = self.gate > 0 and len(logits) > 1
        noise = logit_noise(len(logits), logits.shape[-1], seed).to(logits)[:, None] if noisy else None
        return self.calibrated_logits(logits, distance, noise).softmax(-1)

    def closed_form(self, logits: Tensor, distance: Tensor | None = None) -> Tensor:
        """E_eps[p] ~ softmax((f / temperature + log_prior) / sqrt(1 + pi/4 gate distance)); [N, K] -> [N, K].

        The probit approximation E sigmoid(a + sqrt(v) eps) ~ sigmoid(a / sqrt(1 + pi/8 v)) with v = 2 gate distance,
        the variance of the difference of two logits; with more classes, the same for every pair of them (mean field).
        Within .02 of the integral for two classes, .07 for five.
        """
        return self.calibrated_logits(logits, distance).softmax(-1)

    def calibrated_logits(self, logits: Tensor, distance: Tensor | None = None, noise: Tensor | None = None) -> Tensor:
        """Logits [..., N, K] under the noise [S, 1 or N, K]; if none is given, shrunk as by the mean over all noise."""
        scaled = logits / self.temperature
        if self.log_prior:
            scaled = scaled + logits.new_tensor(self.log_prior)
        if self.gate == 0:
            return scaled
        if distance is None:
            raise InvalidConfig(
                f"gate {self.gate:g} without distances",
                "the distance of each graph from all the model knows",
                "pass the classifier's distance, or fit the temperature instead",
            )
        variance = self.gate * distance.to(logits).unsqueeze(-1)
        return scaled * (1 + PROBIT * variance).rsqrt() if noise is None else scaled + variance.sqrt() * noise

    def to_json(self) -> dict:
        return {**asdict(self), "log_prior": list(self.log_prior)}

    @classmethod
    def from_json(cls, record: Mapping) -> "Calibration":
        names = [field.name for field in fields(cls)]
        if unknown := sorted(set(record) - set(names)):
            raise InvalidConfig(f"calibration with {listed(unknown)}", f"only {listed(names)}", "remove the others")
        return cls(**{**record, "log_prior": tuple(record.get("log_prior", ()))})


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


def fit_calibration(
    logits: Tensor,
    y: Tensor,
    distance: Tensor | None = None,
    class_weight: Tensor | None = None,
    candidates: Sequence[str] = ("temperature", "gate"),
) -> Calibration:
    """The candidate scalar (or none) of lowest, possibly class-weighted, NLL of logits [S, N, K] on labels [N].

    Labels that cannot tell (fewer than ten, or of one class) and logits that are not finite give the identity.
    """
    if unknown := sorted(set(candidates) - set(RANGES)):
        raise InvalidConfig(f"candidate {listed(unknown)}", f"some of {listed(RANGES)}", "correct the name")
    known = y >= 0
    logits, y, distance = logits[:, known].detach(), y[known], None if distance is None else distance[known].detach()
    if len(y) < FEWEST_GRAPHS or len(y.unique()) < 2 or not logits.isfinite().all():
        return Calibration()
    num_draws, _, num_classes = logits.shape
    # Only the label's probability counts, 1 / (1 + sum_k exp(f_k - f_y)), and calibration is linear in f and the noise:
    # it may act on the differences, which is several times quicker than a softmax for every value tried.
    margins = _against_label(logits, y)
    noise = None
    if num_draws > 1:
        noise = _against_label(logit_noise(num_draws, num_classes, seed=0).to(logits)[:, None].expand_as(logits), y)
    weight = torch.ones(len(y)).double() if class_weight is None else class_weight.double()[y]
    # Platt's targets (n + 1) / (n + 2) for a class of n labels: labels that are all predicted right must not
    # drive the confidence to 1, since so few of them cannot show it.
    target = 1 - 1 / (torch.bincount(y, minlength=num_classes).double() + 2)[y]
    least = torch.finfo(torch.float32).tiny

    def loss(calibration: Calibration) -> float:
        chosen = (1 + calibration.calibrated_logits(margins, distance, noise).exp().sum(-1)).reciprocal().mean(0)
        chosen = chosen.double().clamp(min=least)
        rest = (1 - chosen).clamp(min=least)
        return float(-(weight @ (target * chosen.log() + (1 - target) * rest.log())) / weight.sum())

    fitted = [Calibration()]  # first, so that it wins a tie
    if "temperature" in candidates:
        value = _minimum(lambda value: loss(Calibration(temperature=value)), *RANGES["temperature"])
        fitted.append(Calibration(temperature=value))
    if "gate" in candidates and distance is not None:
        fitted.append(Calibration(gate=_minimum(lambda value: loss(Calibration(gate=value)), *RANGES["gate"])))
    return min(fitted, key=loss)


def _against_label(scores: Tensor, y: Tensor) -> Tensor:
    """[S, N, K - 1]: score of every other class minus that of the label, for scores [S, N, K]."""
    classes = (y[:, None] + torch.arange(scores.shape[-1])) % scores.shape[-1]  # [N, K], the label first
    turned = scores.gather(-1, classes.expand_as(scores))
    return turned[..., 1:] - turned[..., :1]


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Where in [low, high] the loss is least: a coarse look on a log scale, then Brent's search around the best."""

    def at(place: float) -> float:
        return loss(float(np.exp(place)))

    grid = np.linspace(np.log(low), np.log(high), 9)
    best = int(np.argmin([at(place) for place in grid]))
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    refined = minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(min(grid[best], refined.x, key=at)))
