"""Label mixes: estimated without labels, and predictions moved from one to another by Bayes' rule."""

import numpy as np
import pytest
import torch

from graphfnp.errors import InvalidConfig
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.calibration import Calibration
from graphfnp.prediction.label_mix import (
    assumed_mix,
    for_mix,
    label_shares,
    mix_by_confusion,
    mix_by_em,
    mix_distance,
    mix_told,
    mix_words,
    read_mix,
)
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.scalings import rake, reweighed
from tiny_graphs import TYPED, small


def drawn(mix: list[float], count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """x ~ N(e_y, I): its log-likelihoods [N, K] up to a constant, and labels of the mix."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.multinomial(torch.tensor(mix), count, replacement=True, generator=generator)
    x = 2 * torch.nn.functional.one_hot(y, len(mix)) + torch.randn(count, len(mix), generator=generator)
    return (2 * x).double(), y


def posterior(likelihood: torch.Tensor, mix: list[float]) -> torch.Tensor:
    return (likelihood + torch.tensor(mix).double().log()).softmax(-1)


MIXES = [([0.5, 0.5], [0.9, 0.1]), ([0.16, 0.84], [0.47, 0.53]), ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1])]


@pytest.mark.parametrize(("old", "new"), MIXES)
def test_label_mix_is_found_without_labels(old, new):
    held_out, y = drawn(old, 8000)
    unlabelled, _ = drawn(new, 8000, seed=1)
    assert mix_by_em(posterior(unlabelled, old), old) == pytest.approx(new, abs=0.02)
    by_confusion = mix_by_confusion(posterior(held_out, old), y, posterior(unlabelled, old))
    assert by_confusion == pytest.approx(new, abs=0.03)
    assert sum(by_confusion) == pytest.approx(1)


def test_em_of_few_graphs_loses_no_class():
    mix = mix_by_em(torch.tensor([[1.0, 0.0]]).repeat(8, 1), (0.5, 0.5))
    assert mix == pytest.approx((0.9, 0.1), abs=1e-6)


def test_class_that_the_prior_does_not_have_takes_no_share_and_moves_with_none():
    probabilities = torch.tensor([[0.70, 0.28, 0.02], [0.10, 0.85, 0.05], [0.6, 0.3, 0.1]]).repeat(20, 1)
    mix = mix_by_em(probabilities, (0.5, 0.5, 0.0))
    assert mix[2] == 0
    assert sum(mix) == pytest.approx(1)
    logits = probabilities.log()[None]
    calibration = Calibration(prior=(0.5, 0.5, 0.0))
    moved = calibration.with_prior((0.4, 0.4, 0.2))
    assert moved.mix == (0.5, 0.5, 0.0)
    assert torch.allclose(moved.apply(logits), calibration.apply(logits), atol=1e-6)


def test_share_of_a_class_that_the_model_has_never_seen_is_refused():
    classifier = make_classifier("vanilla", TYPED, small("vanilla"))
    model = TrainedModel(classifier, Calibration(prior=(0.6, 0.4, 0.0)))
    with pytest.raises(InvalidConfig, match="star, of which there was no graph to fit"):
        for_mix(model, (0.3, 0.3, 0.4))
    assert assumed_mix(for_mix(model, (0.3, 0.7, 0.0))) == pytest.approx((0.3, 0.7, 0.0))
    assert read_mix("b=0.1", ("a", "b", "c"), (0.6, 0.4, 0.0)) == pytest.approx((0.9, 0.1, 0.0))


def test_confusion_by_hand():
    """Class 0 is recognised in 3 of 4, class 1 in all; 6 of 10 guesses are 0: q0 = .6 / .75."""
    guess = torch.tensor([0, 0, 0, 1, 1, 1])
    held_out = torch.nn.functional.one_hot(guess, 2).double()
    probabilities = torch.nn.functional.one_hot(torch.tensor([0] * 6 + [1] * 4), 2).double()
    found = mix_by_confusion(held_out, torch.tensor([0, 0, 0, 0, 1, 1]), probabilities)
    assert found == pytest.approx((0.8, 0.2))
    assert mix_by_confusion(held_out, torch.zeros(6, dtype=torch.long), probabilities) is None


def test_a_model_that_always_guesses_one_class_tells_no_label_mix():
    always = torch.tensor([[0.9, 0.1]] * 6)
    assert mix_by_confusion(always, torch.tensor([0, 0, 0, 0, 1, 1]), always) is None


def test_shares_and_their_distance_by_hand():
    assert label_shares(torch.tensor([0, 1, 1, 1, -1]), 3) == (0.25, 0.75, 0.0)
    assert mix_distance((0.25, 0.75), (0.5, 0.5)) == 0.25


@pytest.mark.parametrize(("old", "new"), MIXES)
def test_moved_predictions_are_the_posteriors_of_the_new_mix(old, new):
    likelihood, _ = drawn(new, 200)
    logits = (likelihood + torch.tensor(old).double().log())[None]
    calibration = Calibration(prior=tuple(old)).with_prior(new)
    assert torch.allclose(calibration.apply(logits)[0], posterior(likelihood, new), atol=1e-6)
    back = calibration.before_log_prior(calibration.apply(logits))
    assert torch.allclose(back[0], posterior(likelihood, old), atol=1e-6)
    assert calibration.mix == pytest.approx(new)


def test_every_draw_moves_to_the_new_mix_and_draws_keep_their_doubt():
    logits = 5 * torch.randn(64, 1, 2, generator=torch.Generator().manual_seed(0))
    before = Calibration().apply(logits)
    after = Calibration(prior=(0.5, 0.5)).with_prior((0.8, 0.2)).apply(logits)
    assert torch.allclose(after[..., 0] / after[..., 1], 4 * before[..., 0] / before[..., 1], rtol=1e-4)
    assert float(after[:, 0, 0].std()) > 0.3


def test_mix_that_is_the_models_own_changes_nothing():
    calibration = Calibration(prior=(0.5, 0.5))
    assert calibration.with_prior((0.5, 0.5 + 1e-9)) == calibration


NAMES, USUAL = ("negative", "weak", "strong"), (0.6, 0.3, 0.1)


@pytest.mark.parametrize(
    ("said", "mix"),
    [
        ("training", USUAL),
        ("even", (1 / 3, 1 / 3, 1 / 3)),
        ("strong=0.4", (0.4, 0.2, 0.4)),
        ("strong=0.2, weak=0.5", (0.3, 0.5, 0.2)),
        ("0.2,0.5,0.3", (0.2, 0.5, 0.3)),
        ({"strong": 0.2, "weak": np.float64(0.5)}, (0.3, 0.5, 0.2)),
    ],
)
def test_mix_is_named_by_class_and_the_rest_is_shared_as_in_training(said, mix):
    assert read_mix(said, NAMES, USUAL) == pytest.approx(mix)


@pytest.mark.parametrize(
    "said", ["no, never=0.2", {"no, never": 0.2}, "yes=0.7,no, never=0.2", "yes=0.7, no, never=0.2"]
)
def test_class_whose_name_holds_a_comma_is_named_in_a_mix(said):
    assert read_mix(said, ("yes", "p=1", "no, never"), (0.7, 0.1, 0.2)) == pytest.approx((0.7, 0.1, 0.2))


def test_class_whose_name_holds_an_equals_sign_before_a_comma_is_named_in_a_mix():
    names = ("IC50=1 µM, or less", "more")
    assert read_mix("IC50=1 µM, or less=0.2, more=0.8", names, (0.5, 0.5)) == pytest.approx((0.2, 0.8))
    assert read_mix({names[0]: 0.3}, names, (0.5, 0.5)) == pytest.approx((0.3, 0.7))


def test_share_without_a_name_is_that_of_the_second_of_two_classes():
    assert read_mix("0.2", ("no", "yes"), (0.5, 0.5)) == pytest.approx((0.8, 0.2))
    assert mix_words((0.8, 0.2), ("no", "yes")) == "no 80.0 %, yes 20.0 %"


@pytest.mark.parametrize(
    "said",
    [
        "medium=0.2",
        "strong=2",
        "strong=0.6,weak=0.5",
        "0.3",
        "often",
        "",
        "0.5,0.5",
        "0.2,0.2,0.2",
        "=0.2",
        "strong=0.2,",
        "strong=0.2,weak",
    ],
)
def test_mix_of_unknown_classes_or_impossible_shares_is_refused_with_the_classes(said):
    with pytest.raises(InvalidConfig, match="strong") as caught:
        read_mix(said, NAMES, USUAL)
    assert "--mix strong=0.2" in caught.value.to_do


def test_prior_that_is_no_label_mix_or_is_unknown_is_refused():
    with pytest.raises(InvalidConfig, match="sum to 1"):
        Calibration(prior=(0.5, 0.5)).with_prior((0.5, 0.9))
    with pytest.raises(InvalidConfig, match="does not know"):
        Calibration().with_prior((0.5, 0.5))


@pytest.mark.parametrize("num_classes", [2, 4])
def test_raked_draws_have_the_mean_asked_for(num_classes):
    generator = torch.Generator().manual_seed(0)
    draws = (3 * torch.randn(32, 50, num_classes, generator=generator)).softmax(-1)
    target = torch.randn(50, num_classes, generator=generator).softmax(-1)
    moved = rake(draws, target)
    assert torch.allclose(moved.mean(0), target, atol=1e-4)
    assert torch.allclose(moved.sum(-1), torch.ones(32, 50), atol=1e-6)
    assert torch.allclose(rake(draws, draws.mean(0)), draws, atol=1e-6)
    assert torch.allclose(rake(draws[:1], target)[0], target, atol=1e-6)
    pick = torch.tensor([7, 3])
    assert torch.equal(rake(draws[:, pick], target[pick]), moved[:, pick])


def test_reweighing_is_bayes_rule():
    found = reweighed(torch.tensor([[0.2, 0.8]]), torch.tensor([2.0, 0.5]).log())
    assert found[0].tolist() == pytest.approx([0.5, 0.5])


def test_graphs_of_another_mix_than_is_assumed_are_named_with_a_way_out() -> None:
    told, other = mix_told([0.16, 0.84], [0.47, 0.53], ["no", "yes"], 200)
    assert told == "probabilities assume no 16.0 %, yes 84.0 %"
    assert other.startswith("these graphs have no 47.0 %, yes 53.0 %: --mix")
    assert mix_told([0.16, 0.84], [0.2, 0.8], ["no", "yes"], 200)[1] == ""


@pytest.mark.parametrize(
    ("assumed", "own", "graphs", "advice"),
    [
        ([0.16, 0.84], [0.47, 0.53], 200, ": --mix estimate or even may suit them better"),
        ([0.4, 0.6], [0.22, 0.78], 200, ": --mix estimate may suit them better"),  # even is farther still
        ([0.16, 0.84], [0.47, 0.53], 6, ": --mix even may suit them better"),  # too few to estimate
        ([0.5, 0.5], [0.22, 0.78], 6, ""),
    ],
)
def test_only_a_mix_that_may_help_is_advised(assumed, own, graphs, advice) -> None:
    assert (
        mix_told(assumed, own, ["no", "yes"], graphs)[1] == f"these graphs have {mix_words(own, ['no', 'yes'])}{advice}"
    )


def test_of_many_classes_the_commonest_are_told():
    assert mix_words((0.07, 0.93), ("toxic", "safe")) == "toxic 7.0 %, safe 93.0 %"
    told = mix_words([0.05] * 10 + [0.5], [f"c{k}" for k in range(11)])
    assert told.startswith("c10 50.0 %, c0 5.0 %, ")
    assert told.endswith(" and 5 more")
