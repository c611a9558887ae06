"""Conformal sets for graphs unlike the held-out ones: each held-out graph weighs as much as it is like these."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidGraphs, InvalidRun, plural
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.prediction.conformal import LEVEL, ROUNDING, TIE, Conformal
from graphfnp.prediction.predict import TrainedModel, collect, graphs_of

FEWEST_GRAPHS = 20  # that can be told from the held-out ones
PRIOR_VARIANCE = 0.125  # of a usual graph's log ratio: chosen on development splits, benchmarks/conformal.py
LARGEST_RATIO = 10.0


@dataclass(frozen=True, eq=False)
class DensityRatio:
    """w(x) = exp(a z(x) + b), within [1/10, 10]: odds that a graph is one of these, not a held-out one."""

    slope: Tensor  # [dims]
    offset: Tensor

    def __call__(self, embedding: Tensor) -> Tensor:
        """[N] of embeddings [N, dims]."""
        odds = (embedding.double() @ self.slope + self.offset).exp()
        return odds.clamp(1 / LARGEST_RATIO, LARGEST_RATIO)


@dataclass(frozen=True)
class WeightedConformal(Conformal):
    """Weighted split conformal sets (Tibshirani et al. 2019), by class.

    The threshold of a graph x is the smallest held-out score s with
    sum_{i: s_i <= s} w(x_i) >= level (sum_i w(x_i) + w(x)); infinite where there is none.
    """

    ratio: DensityRatio = field(compare=False, kw_only=True)

    def density_ratio(self, embedding: Tensor) -> Tensor:
        return self.ratio(embedding)

    def sets(self, probabilities: Tensor, level: float = LEVEL, density_ratio: Tensor | None = None) -> Tensor:
        self.thresholds(level)  # refuses what is no level
        assert density_ratio is not None
        columns = []
        for k, (scores, weight) in enumerate(zip(self.scores, self._weights(), strict=True)):
            total = weight.cumsum(0)
            needed = level * (weight.sum() + density_ratio) - ROUNDING
            rising = torch.tensor([*scores, torch.inf], dtype=torch.double)
            columns.append(1 - probabilities[:, k].double() <= rising[torch.searchsorted(total, needed)] + TIE)
        return torch.stack(columns, dim=-1)

    @property
    def guarantee(self) -> str:
        weight = torch.cat(self._weights())
        counts = f"{len(weight)} held-out graphs count as {weight.sum() ** 2 / weight.square().sum():.0f}"
        return (
            "weighted for these graphs: holds if classes depend on graphs as among the held-out ones (covariate "
            f"shift), as far as the model's embedding separates the two ({counts})"
        )

    def to_json(self) -> dict:
        return {**super().to_json(), "slope": self.ratio.slope.tolist(), "offset": float(self.ratio.offset)}

    def _weights(self) -> tuple[Tensor, ...]:
        """[n] of the held-out graphs of each class."""
        assert self.embedding is not None
        return self.ratio(self.embedding).split([len(scores) for scores in self.scores])


def weighted_for(model: TrainedModel, graphs: PackedGraphs | Sequence[Any], seed: int = 0) -> TrainedModel:
    """The model with conformal sets weighted for these graphs, which need no labels.

    ``graphs`` are PackedGraphs, or a list of SMILES, RDKit molecules or PyG ``Data``.
    """
    graphs = graphs_of(model, graphs)
    if model.conformal is None or model.conformal.embedding is None:
        raise InvalidRun(
            "a model without the embeddings of its held-out graphs",
            "one that was trained or calibrated by this version",
            "fit its sets on labelled graphs: graphfnp calibrate RUN my.csv",
        )
    if len(graphs) < FEWEST_GRAPHS:
        raise InvalidGraphs(
            f"{plural(len(graphs), 'graph')} to weight conformal sets for",
            f"{FEWEST_GRAPHS} or more",
            "leave --weighted out",
        )
    here = collect(model.classifier, graphs, 1, seed).embedding
    held_out, sets = model.conformal.embedding, model.conformal
    ratio = fit_ratio(held_out.double(), here.double())
    return replace(model, conformal=WeightedConformal(sets.scores, sets.held_back, held_out, ratio=ratio))


def fit_ratio(held_out: Tensor, here: Tensor) -> DensityRatio:
    """By logistic regression on standardised embeddings [M, dims] and [N, dims], both sides weighing M in all."""
    from sklearn.linear_model import LogisticRegression  # a second to import, and only fitting needs it

    both = torch.cat([held_out, here])
    weight = torch.cat([torch.ones(len(held_out)), torch.full((len(here),), len(held_out) / len(here))]).double()
    centre = (weight @ both) / weight.sum()
    scale = ((weight @ (both - centre).square()) / weight.sum()).sqrt().clamp(min=1e-6)
    is_here = torch.arange(len(both)) >= len(held_out)
    model = LogisticRegression(C=PRIOR_VARIANCE / both.shape[1], max_iter=1000)
    model.fit(((both - centre) / scale).numpy(), is_here.numpy(), sample_weight=weight.numpy())
    slope = torch.from_numpy(model.coef_[0]) / scale
    return DensityRatio(slope, torch.from_numpy(model.intercept_)[0] - slope @ centre)
