"""The calibrations one can ask for by name."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.isotonic import fit_curves
from graphfnp.prediction.temperature import fit_temperature, labels_suffice
from graphfnp.prediction.vector_scaling import fit_vector

Kind = Literal["soft", "temperature", "vector", "isotonic", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# A validation part easier than what comes later (BBBP) would have a free temperature sharpen, so the default can only
# add doubt; without an upper bound that of a part unlike the training part (BACE) diverges.
BOUNDS = {"soft": (1.0, 10.0), "temperature": (0.2, 10.0)}


def fit_calibration(
    kind: Kind, logits: Tensor, y: Tensor, class_weight: Tensor | None = None, prior: Sequence[float] = ()
) -> Calibration:
    """A calibration of the named kind for logits [S, N, K] and labels [N], -1 where unknown.

    ``prior`` is the label mix the logits assume. Vector and isotonic scaling would learn the mix of the held-out labels
    along with the rest: each class is weighed so that the mix stays the prior, or without one becomes the labels' own.
    Labels that cannot tell (fewer than ten, or of one class) and logits that are not finite give the identity.
    """
    prior, known = tuple(prior), y >= 0
    logits, y = logits[:, known].detach(), y[known]
    if kind == "none" or not labels_suffice(logits, y):
        return Calibration(prior=prior)
    if kind in BOUNDS:
        return Calibration(fit_temperature(logits, y, *BOUNDS[kind], class_weight), prior=prior)
    share = torch.bincount(y, minlength=logits.shape[-1]).double() / len(y)
    weight = (torch.tensor(prior).double() / share)[y] if prior else torch.ones(len(y))
    prior = prior or tuple(share.tolist())
    if kind == "vector":
        scale, offset = fit_vector(logits, y, weight)
        return Calibration(scale=scale, offset=offset, prior=prior)
    return Calibration(isotonic=fit_curves(logits.softmax(-1).mean(0), y, weight), prior=prior)
