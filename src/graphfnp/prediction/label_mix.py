"""Label mixes: as a user names one, how far apart two are, and the mix of unlabelled graphs by their predictions."""

import shlex
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, listed

TRAINING, EVEN, ESTIMATE = "training", "even", "estimate"
OTHER_MIX = 0.1  # share of labels that would have to change before a mix is called another
ROUNDS, TOLERANCE = 10_000, 1e-9


def read_mix(text: str, class_names: Sequence[str], usual: Sequence[float]) -> tuple[float, ...]:
    """The class shares that a user asks for, in the order of the classes; ``usual`` are those of the training data.

    "training", "even", "toxic=0.2" or "toxic=0.2,safe=0.5"; what classes that are not named share is shared out among
    them as in the training data. As in earlier versions "0.3" is the share of the second of two classes, and
    "0.2,0.5,0.3" those of all.
    """
    count, text = len(class_names), text.strip()
    if text == EVEN:
        return tuple([1 / count] * count)
    if text == TRAINING:
        return tuple(usual)
    named: dict[int, float] = {}
    for place, part in enumerate(text.split(",")):
        name, is_named, number = part.rpartition("=")
        known = name.strip() in class_names if is_named else count == 2 or "," in text
        position = class_names.index(name.strip()) if is_named and known else place + (count == 2 and "," not in text)
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not known or position in named or position >= count or not 0 < share < 1:
            raise _no_mix(text, class_names)
        named[position] = share
    rest = [k for k in range(count) if k not in named]
    left, weight = 1 - sum(named.values()), [usual[k] or 1e-4 for k in rest]
    if left <= 0 if rest else abs(left) > 0.01:
        raise _no_mix(text, class_names)
    mix = {**named, **{k: left * own / sum(weight) for k, own in zip(rest, weight, strict=True)}}
    return tuple(mix[k] / sum(mix.values()) for k in range(count))


def _no_mix(text: str, class_names: Sequence[str]) -> InvalidConfig:
    last = class_names[-1] if class_names else "CLASS"
    return InvalidConfig(
        f"the label mix {text!r}",
        f"{TRAINING}, {EVEN}, {ESTIMATE}, or shares between 0 and 1, of 1 in all, of {listed(class_names, 9)}",
        f"write for example --mix {shlex.quote(f'{last}=0.2')}",
    )


def mix_words(mix: Sequence[float] | None, class_names: Sequence[str]) -> str:
    """A mix with the names of its classes: 'safe 93.0 %, toxic 7.0 %'."""
    if mix is None:
        return "not known"
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in zip(class_names, mix, strict=True))


def label_shares(y: Tensor, num_classes: int) -> tuple[float, ...]:
    """Share of each class among the labels that are known."""
    counts = torch.bincount(y[y >= 0], minlength=num_classes).double()
    return tuple((counts / counts.sum().clamp(min=1)).tolist())


def mix_told(assumed: Sequence[float] | None, own: Sequence[float] | None, names: Sequence[str]) -> tuple[str, str]:
    """The mix that probabilities assume, and, where that of the graphs judged is another, what to do about it."""
    told = f"probabilities assume {mix_words(assumed, names)}"
    if not assumed or not own or mix_distance(assumed, own) < OTHER_MIX:
        return told, ""
    return told, f"these graphs have {mix_words(own, names)}: --mix estimate or even may suit them better"


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
