"""What a temperature takes from a rare class, given back: one offset for each class."""

from dataclasses import replace

import torch
from torch import Tensor

from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.label_mix import label_shares
from graphfnp.prediction.scalings import Temperature, most_probable


def with_offset(calibration: Calibration, logits: Tensor, y: Tensor) -> Calibration:
    """The calibration with offsets b that minimise sum_i -log mean_s softmax(f_s / T + b + m)[y_i] + |b|^2 / 2.

    ``logits`` [S, N, K], ``y`` [N], -1 where unknown; m moves the prior to the label mix of ``y``. A temperature above
    1 flattens the few large logits of a rare class and the many small ones of the others alike, so that the mean
    probability of the rare class falls below its share; at the minimum it is that share again. The penalty is a
    standard normal prior: few labels move little.
    """
    scaling = calibration.scaling
    if not isinstance(scaling, Temperature) or scaling.temperature == 1 or not calibration.prior:
        return calibration
    labelled = y >= 0
    labels = y[labelled]
    own = replace(calibration, log_prior=()).with_prior(label_shares(labels, logits.shape[-1])).log_prior
    if not own:  # the mix that the logits assume: no class is rarer than it was made to be
        return calibration
    scaled = logits[:, labelled].detach().double() / scaling.temperature + torch.tensor(own)

    def loss(offset: Tensor) -> Tensor:
        chosen = (scaled + offset).log_softmax(-1).gather(-1, labels.expand(len(scaled), -1).unsqueeze(-1))
        return -chosen.logsumexp(0).sum()

    offset = most_probable(loss, logits.shape[-1])
    return replace(calibration, scaling=Temperature(scaling.temperature, tuple(offset.tolist())))
