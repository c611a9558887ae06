"""Label mixes: how far apart two are, and what the mix of unlabelled graphs is by their predictions."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

ROUNDS, TOLERANCE = 10_000, 1e-9


def label_shares(y: Tensor, num_classes: int) -> tuple[float, ...]:
    """Share of each class among the labels that are known."""
    counts = torch.bincount(y[y >= 0], minlength=num_classes).double()
    return tuple((counts / counts.sum().clamp(min=1)).tolist())


def mix_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Total variation 1/2 sum_k |first_k - second_k|: the share of labels that would have to change."""
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2


def mix_by_em(probabilities: Tensor, prior: Sequence[float]) -> tuple[float, ...]:
    """q_k = mean_i p_i[k] r_k / sum_j p_i[j] r_j with r = q / prior, by EM from q = prior (Saerens et al. 2002).

    ``probabilities`` [N, K] must be calibrated for the label mix ``prior``. One graph of each class is added to the
    mean, so that no class vanishes from few graphs.
    """
    assumed = torch.tensor(tuple(prior)).double().clamp(min=1e-12)
    evidence = probabilities.double() / assumed
    mix, (count, num_classes) = assumed, probabilities.shape
    for _ in range(ROUNDS):
        posterior = evidence * mix
        posterior = posterior / posterior.sum(-1, keepdim=True)
        previous, mix = mix, (posterior.sum(0) + 1) / (count + num_classes)
        if float((mix - previous).abs().max()) < TOLERANCE:
            break
    return tuple(mix.tolist())


def mix_by_confusion(held_out: Tensor, y: Tensor, probabilities: Tensor) -> tuple[float, ...] | None:
    """Shares q >= 0 that solve P(guess = i) = sum_k P(guess = i | k) q_k best: black-box shift estimation.

    Lipton et al. 2018. The confusion P(guess | label) is that of held-out graphs [M, K] with labels [M], the
    frequencies of guesses those of the graphs in question [N, K]. None where a class has no held-out graph. Needs no
    calibration.
    """
    from scipy.optimize import nnls  # slow to import, and only this needs it

    num_classes = probabilities.shape[-1]
    known = y >= 0
    count = torch.bincount(y[known], minlength=num_classes)
    if not len(probabilities) or (count == 0).any():
        return None
    pairs = num_classes * held_out[known].argmax(-1) + y[known]
    confusion = torch.bincount(pairs, minlength=num_classes**2).view(num_classes, num_classes).double() / count
    guesses = torch.bincount(probabilities.argmax(-1), minlength=num_classes).double() / len(probabilities)
    mix, _ = nnls(confusion.numpy(), guesses.numpy())
    return tuple((mix / np.sum(mix)).tolist())
