"""Weighted conformal sets: by hand, over many simulated shifts, and kept with the model."""

from dataclasses import replace

import pytest
import torch

from graphfnp.errors import InvalidGraphs, InvalidRun
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.scores import conformal_scores
from graphfnp.prediction.calibrate import calibrate
from graphfnp.prediction.conformal import fit_conformal
from graphfnp.prediction.predict import conformal_sets, predict
from graphfnp.prediction.shift import DensityRatio, WeightedConformal, fit_ratio, weighted_for
from graphfnp.runs.checkpoint import load_model
from graphfnp.training.train import train
from tiny_graphs import TINY_TRAINING, TYPED, shapes, small


def test_threshold_is_where_the_weights_reach_the_level():
    """Weights 1, 1, 2, 4 of scores .1 .2 .3 .4, and 2 of the graph: half of 10 is reached at .4, .4 of it at .3."""
    weight = torch.tensor([1.0, 1.0, 2.0, 4.0]).double()
    ratio = DensityRatio(torch.tensor([1.0]).double(), torch.tensor(0.0).double())
    sets = WeightedConformal(((0.1, 0.2, 0.3, 0.4),), True, weight.log()[:, None], ratio=ratio)
    probabilities, here = torch.tensor([[0.71], [0.69], [0.61], [0.59]]).double(), torch.full((4,), 2.0).double()
    assert sets.sets(probabilities, 0.4, here)[:, 0].tolist() == [True, False, False, False]
    assert sets.sets(probabilities, 0.5, here)[:, 0].tolist() == [True, True, True, False]
    assert sets.sets(probabilities, 0.9, here)[:, 0].tolist() == [True] * 4  # 8 of 10 are not enough: nothing is out
    assert "4 held-out graphs count as 3" in sets.guarantee


def test_equal_weights_give_the_plain_sets():
    generator = torch.Generator().manual_seed(0)
    probabilities, y = torch.rand(200, 3, generator=generator).softmax(-1), torch.arange(200) % 3
    plain = fit_conformal(probabilities, y, True, torch.randn(200, 4, generator=generator))
    same = DensityRatio(torch.zeros(4).double(), torch.zeros(()).double())
    weighted = WeightedConformal(plain.scores, True, plain.embedding, ratio=same)
    for level in (0.5, 0.8, 0.9, 0.99):
        assert torch.equal(weighted.sets(probabilities, level, torch.ones(200)), plain.sets(probabilities, level))


def test_embeddings_stand_in_the_order_of_the_scores():
    generator = torch.Generator().manual_seed(1)
    probabilities, y = torch.rand(50, 2, generator=generator).softmax(-1), torch.arange(50) % 3 - 1
    found = fit_conformal(probabilities, y, True, probabilities)
    assert found.embedding is not None
    own = [found.embedding[: len(found.scores[0]), 0], found.embedding[len(found.scores[0]) :, 1]]
    for scores, embedding in zip(found.scores, own, strict=True):
        torch.testing.assert_close(torch.tensor(scores), 1 - embedding)


def test_sets_hold_under_a_shift_of_the_graphs_where_plain_ones_do_not():
    """p(y | x) stays, and is told badly where x is large: there the graphs move to, and plain sets miss too often."""

    def drawn(count: int, centre: float, generator: torch.Generator):
        x = centre + torch.randn(count, 1, generator=generator)
        y = (torch.rand(count, generator=generator) < 0.5).long()
        noise = 0.5 + 3 * torch.sigmoid(3 * (x[:, 0] - 1))
        logit = 2 * (2 * y - 1) + noise * torch.randn(count, generator=generator)
        return x, torch.stack([-logit, logit], -1).softmax(-1), y

    generator, covered = torch.Generator().manual_seed(0), {"plain": [], "weighted": []}
    for _ in range(20):
        x, probabilities, y = drawn(600, 0.0, generator)
        there, predicted, truth = drawn(600, 1.0, generator)
        plain = fit_conformal(probabilities, y, True, x)
        ratio = fit_ratio(x.double(), there.double())
        weighted = WeightedConformal(plain.scores, True, plain.embedding, ratio=ratio)
        for name, sets in (("plain", plain.sets(predicted)), ("weighted", weighted.sets(predicted, 0.9, ratio(there)))):
            covered[name].append(conformal_scores(sets, truth)["coverage"])
    plain_mean, weighted_mean = (sum(covered[name]) / 20 for name in covered)
    assert plain_mean < 0.84
    assert abs(weighted_mean - 0.9) < 0.6 * abs(plain_mean - 0.9)


@pytest.fixture(scope="module")
def model():
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    return train(classifier, shapes(30), shapes(60, seed=1), TINY_TRAINING).model


def test_held_out_graphs_are_kept_with_the_model_and_fitted_anew_by_calibrate(model, tmp_path):
    for one in (model, calibrate(model, shapes(45, seed=5))):
        one.save(tmp_path)
        again = load_model(tmp_path)
        assert torch.equal(again.conformal.embedding, one.conformal.embedding)
        assert len(one.conformal.embedding) == sum(map(len, one.conformal.scores))
        graphs = shapes(30, seed=7)
        first, second = (
            conformal_sets(weighted, predict(weighted, graphs))
            for weighted in (weighted_for(one, graphs), weighted_for(again, graphs))
        )
        assert torch.equal(first, second)
        assert weighted_for(one, graphs).id != one.id


def test_model_without_held_out_embeddings_and_too_few_graphs_are_refused(model):
    without = replace(model, conformal=replace(model.conformal, embedding=None))
    with pytest.raises(InvalidRun, match="without the embeddings"):
        weighted_for(without, shapes(30))
    with pytest.raises(InvalidGraphs, match="19 graphs"):
        weighted_for(model, shapes(19))
