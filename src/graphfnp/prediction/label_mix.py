"""Label mixes: as a user names one, how far apart two are, and the mix of unlabelled graphs by their predictions."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isnan, nan
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfnp.datasets.dataset import PARTS, Dataset
from graphfnp.errors import InvalidConfig, InvalidGraphs, listed, plural
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.prediction.scalings import reweighed

TRAINING, EVEN, ESTIMATE = "training", "even", "estimate"
OTHER_MIX = 0.1  # share of labels that would have to change before a mix is called another
ROUNDS, TOLERANCE = 10_000, 1e-9
MOST_NAMED = 6  # classes of a mix in a sentence


def read_mix(given: str | Mapping[Any, float], class_names: Sequence[str], usual: Sequence[float]) -> tuple[float, ...]:
    """The class shares that a user asks for, in the order of the classes; ``usual`` are those of the training data.

    "training", "even", "toxic=0.2", "toxic=0.2,safe=0.5" or {"toxic": 0.2}; what classes that are not named share is
    shared out among them as in the training data. As in earlier versions "0.3" is the share of the second of two
    classes, and "0.2,0.5,0.3" those of all.
    """
    count, text = len(class_names), mix_text(given)
    if text == EVEN:
        return tuple([1 / count] * count)
    if text == TRAINING:
        return tuple(usual)
    named: dict[int, float] = {}
    for place, (name, number) in enumerate(_pairs(text)):
        known = name in class_names if name else count == 2 or "," in text
        position = class_names.index(name) if name and known else place + (count == 2 and "," not in text)
        share = _number(number)
        if not known or position in named or position >= count or not 0 < share < 1:
            raise _no_mix(text, class_names)
        named[position] = share
    rest = [k for k in range(count) if k not in named]
    left, weight = 1 - sum(named.values()), [usual[k] for k in rest]
    if not any(weight):
        weight = [1.0] * len(rest)
    if left <= 0 if rest else abs(left) > 0.01:
        raise _no_mix(text, class_names)
    mix = {**named, **{k: left * own / sum(weight) for k, own in zip(rest, weight, strict=True)}}
    return tuple(mix[k] / sum(mix.values()) for k in range(count))


def _pairs(text: str) -> list[tuple[str, str]]:
    """Names with their shares as text, a name empty where no name is given; a name may hold commas and "="."""
    if "=" not in text:
        return [("", number) for number in text.split(",")]
    pairs, begun = [], []
    for piece in text.split(","):
        begun.append(piece)
        name, _, number = ",".join(begun).rpartition("=")
        if "=" in piece and not isnan(_number(number)):
            pairs.append((name.strip() or text, number))
            begun = []
    return pairs + [(piece, "") for piece in begun]


def _number(text: str) -> float:
    """NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return nan


def mix_text(given: str | Mapping[Any, float]) -> str:
    """As ``graphfnp predict --mix`` takes it."""
    if isinstance(given, str):
        return given.strip()
    return ",".join(f"{name}={float(share)!r}" for name, share in given.items())


def models_for(given: str | Mapping[Any, float], classes: Mapping[str, Sequence[str]]) -> list[str]:
    """Of several models, by their classes, those that a mix is for: all, or those that have all classes it names."""
    text = mix_text(given)
    for_all = text in (TRAINING, EVEN, ESTIMATE) or len(classes) == 1
    named = set() if for_all else {name for name, _ in _pairs(text)}
    if fitting := [model for model, own in classes.items() if named <= set(own)]:
        return fitting
    known = "; ".join(f"{model}: {listed(own, 9)}" for model, own in classes.items())
    raise InvalidConfig(
        f"the label mix {text!r} for several models",
        f"{TRAINING}, {EVEN}, {ESTIMATE}, or shares of classes that one of them has ({known})",
        "name classes of one model, or ask each by itself",
    )


def _no_mix(text: str, class_names: Sequence[str]) -> InvalidConfig:
    last = class_names[-1] if class_names else "CLASS"
    words = (TRAINING, EVEN) if text == ESTIMATE else (TRAINING, EVEN, ESTIMATE)  # from graphs that are not here yet
    return InvalidConfig(
        f"the label mix {text!r}",
        f"{', '.join(words)}, or shares between 0 and 1, of 1 in all, of {listed(class_names, 9)}",
        f"write for example --mix {shlex.quote(f'{last}=0.2')}",
    )


def mix_words(mix: Sequence[float] | None, class_names: Sequence[str]) -> str:
    """A mix with the names of its classes: 'safe 93.0 %, toxic 7.0 %'; of many classes the commonest."""
    if mix is None:
        return "not known"
    shares = list(zip(class_names, mix, strict=True))
    if len(shares) > MOST_NAMED:
        shares.sort(key=lambda one: -one[1])
    return listed([f"{name} {100 * share:.1f} %" for name, share in shares], MOST_NAMED)


def label_shares(y: Tensor, num_classes: int) -> tuple[float, ...]:
    """Share of each class among the labels that are known."""
    counts = torch.bincount(y[y >= 0], minlength=num_classes).double()
    return tuple((counts / counts.sum().clamp(min=1)).tolist())


def mix_told(
    assumed: Sequence[float] | None, own: Sequence[float] | None, names: Sequence[str], num_graphs: int
) -> tuple[str, str]:
    """The mix that probabilities assume, and, where that of the graphs judged is another, what to do about it."""
    told = f"probabilities assume {mix_words(assumed, names)}"
    if not assumed or not own or mix_distance(assumed, own) < OTHER_MIX:
        return told, ""
    even_is_nearer = mix_distance([1 / len(own)] * len(own), own) < mix_distance(assumed, own)
    better = [ESTIMATE] * (num_graphs >= FEWEST_GRAPHS) + [EVEN] * even_is_nearer
    advice = f": --mix {' or '.join(better)} may suit them better" if better else ""
    return told, f"these graphs have {mix_words(own, names)}{advice}"


def mix_distance(first: Sequence[float], second: Sequence[float]) -> float:
    """Total variation 1/2 sum_k |first_k - second_k|: the share of labels that would have to change."""
    return sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2


def mix_by_em(probabilities: Tensor, prior: Sequence[float]) -> tuple[float, ...]:
    """q_k = mean_i p_i[k] r_k / sum_j p_i[j] r_j with r = q / prior, by EM from q = prior (Saerens et al. 2002).

    ``probabilities`` [N, K] must be calibrated for the label mix ``prior``. One graph of each class is added to the
    mean, so that no class vanishes from few graphs; but a class without a share in ``prior`` has none.
    """
    assumed = torch.tensor(tuple(prior)).double()
    known = assumed > 0
    evidence = probabilities.double() / torch.where(known, assumed, torch.inf)
    mix = assumed
    for _ in range(ROUNDS):
        posterior = evidence * mix
        counts = known + (posterior / posterior.sum(-1, keepdim=True).clamp(min=1e-12)).sum(0)
        previous, mix = mix, counts / counts.sum()
        if float((mix - previous).abs().max()) < TOLERANCE:
            break
    return tuple(mix.tolist())


def mix_by_confusion(held_out: Tensor, y: Tensor, probabilities: Tensor) -> tuple[float, ...] | None:
    """Shares q >= 0 that solve P(guess = i) = sum_k P(guess = i | k) q_k best: black-box shift estimation.

    Lipton et al. 2018. The confusion P(guess | label) is that of held-out graphs [M, K] with labels [M], the
    frequencies of guesses those of the graphs in question [N, K]. None where a class has no held-out graph, or where
    several mixes give the same guesses, as if a class is never guessed. Needs no calibration.
    """
    from scipy.optimize import nnls  # slow to import, and only this needs it

    num_classes = probabilities.shape[-1]
    known = y >= 0
    count = torch.bincount(y[known], minlength=num_classes)
    if not len(probabilities) or (count == 0).any():
        return None
    pairs = num_classes * held_out[known].argmax(-1) + y[known]
    confusion = torch.bincount(pairs, minlength=num_classes**2).view(num_classes, num_classes).double() / count
    if torch.linalg.matrix_rank(confusion) < num_classes:
        return None
    guesses = torch.bincount(probabilities.argmax(-1), minlength=num_classes).double() / len(probabilities)
    mix, _ = nnls(confusion.numpy(), guesses.numpy())
    return tuple((mix / np.sum(mix)).tolist())


FEWEST_GRAPHS = 20  # whose label mix can be estimated


def label_shift(
    model: TrainedModel, dataset: Dataset, part: str, predictions: Predictions, seed: int = 0
) -> dict[str, Any]:
    """Class shares of each part, distances between them, and the mix of ``part`` estimated without its labels."""
    num_classes = dataset.graphs.num_classes
    shares = {
        name: label_shares(dataset.graphs.y[index], num_classes)
        for name in PARTS
        if len(index := getattr(dataset.split, name))
    }
    held_out = predictions if part == "validation" else predict(model, dataset.validation, seed=seed)
    mix = assumed_mix(model)
    as_fitted, as_fitted_held_out = (_as_fitted(model, one) for one in (predictions, held_out))
    return {
        "classes": list(dataset.graphs.schema.class_names),
        "shares": shares,
        "distance": {f"{a} to {b}": mix_distance(shares[a], shares[b]) for a, b in combinations(shares, 2)},
        "assumed": mix,
        "estimated": {
            "part": part,
            "em": None if mix is None else mix_by_em(as_fitted, _prior(model)),
            "bbse": mix_by_confusion(as_fitted_held_out, held_out.y, as_fitted),
        },
    }


def assumed_mix(model: TrainedModel) -> tuple[float, ...] | None:
    """The label mix a model's probabilities are made for; None for a model whose record does not say."""
    return replace(model.calibration, prior=_prior(model)).mix


def estimated_mix(model: TrainedModel, predictions: Predictions) -> tuple[float, ...]:
    """The label mix of unlabelled graphs by EM; InvalidGraphs where it cannot be told."""
    mix = assumed_mix(model)
    if mix is None or len(predictions) < FEWEST_GRAPHS:
        raise InvalidGraphs(
            plural(len(predictions), "graph") + ("" if mix else " and a model that does not know its own label mix"),
            f"{FEWEST_GRAPHS} graphs or more, and a model that knows its mix",
            f"give the class shares yourself: --mix {shlex.quote(f'{model.classifier.schema.class_names[-1]}=0.3')}",
        )
    return mix_by_em(_as_fitted(model, predictions), _prior(model))


def for_mix(model: TrainedModel, mix: Sequence[float] | None) -> TrainedModel:
    """The model, its probabilities made for graphs of this label mix; None: as they are."""
    if mix is None:
        return model
    known, names = replace(model.calibration, prior=_prior(model)), model.classifier.schema.class_names
    new = known.with_prior(mix)
    if unseen := [name for name, old, share in zip(names, known.prior, mix, strict=True) if share > 0 == old]:
        raise InvalidConfig(
            f"a label mix with {listed(unseen)}, of which there was no graph to fit the probabilities on",
            f"shares of {listed([name for name in names if name not in unseen], 9)}",
            "leave it out of the mix, or train or calibrate with graphs of it",
        )
    if new.mix == assumed_mix(model):
        return model
    told = model.provenance and model.provenance.unmeasured("moved to another label mix")
    return replace(model, calibration=new, provenance=told, decision=None)  # a threshold is for one mix


def as_trained(model: TrainedModel) -> TrainedModel:
    """The model, its probabilities for the mix that training weighs the classes to: what tables are made of."""
    return replace(model, calibration=replace(model.calibration, log_prior=()))


def moved_to_mix(
    model: TrainedModel, predictions: Predictions, mix: tuple[float, ...]
) -> tuple[TrainedModel, Predictions]:
    """The model, and predictions it has made, for graphs of another label mix."""
    moved, draws = for_mix(model, mix), model.calibration.before_log_prior(predictions.draws)
    if moved.calibration.log_prior:
        draws = reweighed(draws, moved.calibration.log_prior)
    return moved, replace(predictions, draws=draws)


def _as_fitted(model: TrainedModel, predictions: Predictions) -> torch.Tensor:
    """Probabilities [N, K] for the mix that the calibration was fitted for: the mean over draws is right there."""
    return model.calibration.before_log_prior(predictions.draws).mean(0)


def _prior(model: TrainedModel) -> tuple[float, ...]:
    """As recorded; models of earlier versions do not record it, but class-balanced training assumes an even mix."""
    weight = model.classifier.class_weight
    is_balanced = bool((weight != 1).any())
    return model.calibration.prior or (tuple([1 / len(weight)] * len(weight)) if is_balanced else ())
