"""The calibrations one can ask for by name."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from graphfnp.calibration.isotonic import fit_curves
from graphfnp.calibration.scalars import AUTO, fit_calibration, fit_to_tell
from graphfnp.calibration.transformation import Calibration
from graphfnp.calibration.vector_scaling import fit_vector

Kind = Literal["auto", "temperature", "gate", "fallback", "vector", "isotonic", "none"]

# The scalars each kind may use. Every epoch is judged by these alone: curves fitted on the very labels that judge
# would make any epoch look good.
SCALARS: dict[str, tuple[str, ...]] = {
    "auto": AUTO, "temperature": ("temperature",), "gate": ("gate",),
    "fallback": ("fallback",),
    "vector": ("temperature",), "isotonic": ("temperature",), "none": (),
}  # fmt: skip


def fit_kind(
    kind: Kind,
    logits: Tensor,
    y: Tensor,
    distance: Tensor | None = None,
    class_weight: Tensor | None = None,
    prior: Sequence[float] = (),
) -> Calibration:
    """A calibration of the named kind for logits [S, N, K] and labels [N], -1 where unknown.

    ``prior`` is the label mix the logits assume. Vector and isotonic scaling would learn the mix of the held-out labels
    along with the rest: each class is weighed so that the mix stays the prior, or without one becomes the labels' own.
    """
    prior = tuple(prior)
    known = y >= 0
    if kind not in ("vector", "isotonic") or not fit_to_tell(logits[:, known], y[known]):
        scalar = fit_calibration(logits, y, distance, class_weight, SCALARS[kind])
        return replace(scalar, prior=prior)
    logits, y = logits[:, known].detach(), y[known]
    share = torch.bincount(y, minlength=logits.shape[-1]).double() / len(y)
    weight = (torch.tensor(prior).double() / share)[y] if prior else torch.ones(len(y))
    prior = prior or tuple(share.tolist())
    if kind == "vector":
        scale, offset = fit_vector(logits, y, weight)
        return Calibration(scale=scale, offset=offset, prior=prior)
    return Calibration(isotonic=fit_curves(logits.softmax(-1).mean(0), y, weight), prior=prior)
