"""Ideas that GraphFNP does without, as patches of it: ``python benchmarks/ideas.py [--json] [--idea NAME ...]``.

Each is judged on development splits (``benchmarks/development.py``), where nothing of the tables' validation and test
parts is seen, beside the default and, where the idea is as good for any network, beside Vanilla with it. A split that
is in the file is not trained again. What came of them is in docs/paper-notes.md.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any
from unittest.mock import patch

import torch
from rdkit import RDLogger
from torch import Tensor, nn

from development import SPLITS
from graphfnp.baselines import vanilla
from graphfnp.calibration import fit_calibration
from graphfnp.evaluation import rationale_scores
from graphfnp.experiments.protocol import FIXED, RECIPE, WIDTH
from graphfnp.graphs import Batch
from graphfnp.methods import make_classifier
from graphfnp.metrics.scores import auroc, negative_log_likelihood
from graphfnp.model import graph_encoder, graphfnp
from graphfnp.model.objectives import angle_loss, link_loss, own_class, separation_loss
from graphfnp.networks.gaussian import Gaussian
from graphfnp.networks.neighbourhood import mean_pool
from graphfnp.prediction import RawPredictions, collect
from graphfnp.settings import with_overrides
from graphfnp.training import _Loop, train
from graphfnp.training_config import TrainingConfig

RESULT = Path(__file__).parent / "results" / "ideas.json"
PLACES = {"bbbp": 4, "bace": 4, "sst2 middle": 3}  # development splits, and how many seeds of each
M_STEP, ENCODER = graphfnp.m_step, graph_encoder.GraphEncoder

# ---------------------------------------------------------------- the ideas


def more_in_m_step(term: Callable[..., Tensor]) -> Any:
    """The M-step with one term more, once rationales are placed."""

    def m_step(model, batch, encoded, prior):
        terms = M_STEP(model, batch, encoded, prior)
        return terms | ({"idea": term(model, batch, encoded, prior)} if model.uses_rationales else {})

    return patch.object(graphfnp, "m_step", m_step)


def pull(weight: float) -> Any:
    """What holds rationales near graphs moves graphs to rationales too."""

    def term(model, batch, encoded, prior) -> Tensor:
        z, own, w = encoded.graph_embedding.mean, own_class(batch.y, model.rationale_prior.label), model.class_weight
        log_kappa, w = model.correlation.log_probability(z, prior.mean), w[batch.y]
        drawn = link_loss(log_kappa, own, w) + separation_loss(log_kappa, own, w)
        return weight * (drawn + angle_loss(z, prior.mean, own, w))

    return more_in_m_step(term)


def outlier_exposure(weight: float) -> Any:
    """Graphs whose nodes are shuffled over the batch shall be answered by even odds."""

    def term(model, batch, encoded, prior) -> Tensor:
        order = torch.randperm(batch.num_nodes)
        types = None if batch.node_type is None else batch.node_type[order]
        z = model.encoder(replace(batch, x=batch.x[order], node_type=types)).graph_embedding.sample()
        return -weight * model.logits(z, model.draw_local(z, prior.sample())).log_softmax(-1).mean()

    return more_in_m_step(term)


def rationale_dropout(share: float) -> Any:
    """In training a share of the graphs is linked to nothing: u must then mean the prior."""
    original = graphfnp.GraphFNP.summarise

    def summarise(self, log_kappa, rationales, uniform):
        if not self.training:
            return original(self, log_kappa, rationales, uniform)
        links = self.correlation(log_kappa, uniform) * (torch.rand(len(log_kappa), 1) > share)
        return self.local_rationale.summarise(links, self.local_rationale.statistics(rationales))

    return patch.object(graphfnp.GraphFNP, "summarise", summarise)


@contextmanager
def own_average(share: float) -> Iterator[None]:
    """A share of the data's target is what the moving average of the weights says."""
    teachers: list[graphfnp.GraphFNP] = []
    begin = _Loop.__init__

    def begun(loop, *given) -> None:
        begin(loop, *given)
        teachers[:] = [loop.state.average.averaged]

    def m_step(model, batch, encoded, prior):
        terms = M_STEP(model, batch, encoded, prior)
        if model.uses_rationales:
            with torch.no_grad():
                taught = teachers[0].eval().draw_logits(batch, 4).softmax(-1).mean(0)
            z = encoded.graph_embedding.sample()
            logits = model.logits(z, model.draw_local(z, prior.sample()))
            losses = nn.functional.cross_entropy(logits, taught, reduction="none") * model.class_weight[batch.y]
            terms |= {"data": (1 - share) * terms["data"], "idea": share * losses.mean()}
        return terms

    with patch.object(_Loop, "__init__", begun), patch.object(graphfnp, "m_step", m_step):
        yield


@contextmanager
def half_by_maximum() -> Iterator[None]:
    """Half of the dimensions are pooled by the maximum over nodes, for any network."""

    def pooled(backbone: nn.Module, batch: Batch) -> Tensor:
        states = backbone(batch)
        mean, half = mean_pool(states, batch), states.shape[1] // 2
        place = batch.batch[:, None].expand(-1, half)
        largest = torch.full_like(mean[:, :half], -math.inf).scatter_reduce(0, place, states[:, :half], "amax")
        return torch.cat([largest, mean[:, half:]], dim=1)

    with patch.object(graph_encoder, "mean_state", pooled), patch.object(vanilla, "mean_state", pooled):
        yield


@contextmanager
def usual_length() -> Iterator[None]:
    """z is divided by the length that its number of nodes leads to expect: a running regression of |z|^2 on 1 / n."""
    begin, encode = ENCODER.__init__, ENCODER.forward

    def begun(self, *given) -> None:
        begin(self, *given)
        self.register_buffer("lengths", torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0]))  # the last: have they begun?

    def encoded(self, batch: Batch):
        found = encode(self, batch)
        z, x = found.graph_embedding.mean, batch.sizes.clamp(min=1).reciprocal()
        if self.training:
            square = z.detach().square().mean(-1)
            now = torch.stack([part.mean() for part in (x, square, x.square(), x * square)])
            self.lengths[:4].lerp_(now, 0.02 if self.lengths[4] else 1.0)
            self.lengths[4] = 1.0
        mean_x, mean, mean_xx, mean_xs, _ = self.lengths.clone()
        slope = (mean_xs - mean_x * mean).clamp(min=0) / (mean_xx - mean_x.square()).clamp(min=1e-12)
        expected = ((mean + slope * (x - mean_x)) / mean).clamp(min=0.2)
        shorter = Gaussian(z * expected.rsqrt()[:, None], found.graph_embedding.log_std)
        return graph_encoder.Encoded(found.graph_state, shorter)

    with patch.object(ENCODER, "__init__", begun), patch.object(ENCODER, "forward", encoded):
        yield


# name -> method, what differs from its defaults, and the patch under which it is trained and predicts
IDEAS: dict[str, tuple[str, dict[str, Any], Callable[[], Any]]] = {
    "default": ("graphfnp", {}, nullcontext),
    "joint training": ("graphfnp", {"optimization": "joint"}, nullcontext),
    "pull .1": ("graphfnp", {}, lambda: pull(0.1)),
    "pull .5": ("graphfnp", {}, lambda: pull(0.5)),
    "rationale dropout": ("graphfnp", {}, lambda: rationale_dropout(0.2)),
    "outlier exposure": ("graphfnp", {}, lambda: outlier_exposure(0.1)),
    "own average": ("graphfnp", {}, lambda: own_average(0.5)),
    "half by maximum": ("graphfnp", {}, half_by_maximum),
    "usual length": ("graphfnp", {}, usual_length),
    "vanilla": ("vanilla", {}, nullcontext),
    "vanilla, half by maximum": ("vanilla", {}, half_by_maximum),
}


# ---------------------------------------------------------------- judging them


def evidence(raw: RawPredictions, a: float) -> Tensor:
    """(1 - w) p + w / K with w = a / (a + kappa): rationales count as observations, a is what is known without."""
    assert raw.distance is not None
    doubt = (a / (a + 1 - raw.distance))[:, None]
    return (1 - doubt) * raw.logits.softmax(-1).mean(0) + doubt / raw.logits.shape[-1]


def judge(name: str, place: str, seed: int) -> dict[str, float]:
    """Scores on the split's test part; each post-hoc form is fitted on its validation part."""
    method, overrides, patched = IDEAS[name]
    graphs, validation, test = SPLITS[place][1](seed)
    fixed = {key: value for key, value in FIXED.get(method, {}).items() if not key.startswith("training.")}
    settings = {"backbone.name": "gcn", "backbone.width": WIDTH, **fixed, **overrides}
    with patched():
        classifier = make_classifier(method, graphs.schema, settings, seed)
        model = train(classifier, graphs, validation, with_overrides(TrainingConfig(), RECIPE), seed).model
        known, raw = (collect(classifier, part, seed=seed) for part in (validation, test))
        found = {}
        if method == "graphfnp":
            label = classifier.rationale_prior.label
            found["rf1"] = rationale_scores(classifier, test, label, seed)["rationale_f1"]["1"]
    weight = classifier.class_weight
    heated = fit_calibration(known.logits, validation.y, None, weight, ("temperature",))
    own = model.calibration.apply(raw.logits, raw.distance).mean(0)
    forms = {
        "own": own,
        "temperature": heated.apply(raw.logits).mean(0),
        "none": raw.logits.softmax(-1).mean(0),
    }
    if raw.distance is not None:
        amounts = torch.logspace(-4, 0.5, 50).tolist()
        best = min(amounts, key=lambda a: float(negative_log_likelihood(evidence(known, a), validation.y, weight)))
        forms["evidence"] = evidence(raw, best)
    found |= {f"nll {form}": float(negative_log_likelihood(p, test.y)) for form, p in forms.items()}
    return {key: round(value, 4) for key, value in {**found, "auroc": auroc(own, test.y) or 0.5}.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--idea", action="append", choices=list(IDEAS), help="only this one; repeatable")
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    record = json.loads(RESULT.read_text()) if RESULT.exists() else {"command": "python benchmarks/ideas.py --json"}
    for name in given.idea or IDEAS:
        for place, seeds in PLACES.items():
            rows = record.setdefault(name, {}).setdefault(place, [])
            for seed in range(len(rows), seeds):
                rows.append(judge(name, place, seed))
                if given.json:
                    RESULT.write_text(json.dumps(record, indent=1) + "\n")
            means = {measure: fmean(row[measure] for row in rows) for measure in rows[0]}
            print(f"{name:26} {place:12}" + "".join(f"  {key} {mean:.3f}" for key, mean in means.items()), flush=True)


if __name__ == "__main__":
    main()
